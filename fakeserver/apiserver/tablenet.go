package apiserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// networkPrinters print what connects pods.
var networkPrinters = map[schema.GroupResource]*printer{
	{Resource: "services"}: named(func(o *corev1.Service) []any {
		return []any{
			string(serviceType(o)), orNone(o.Spec.ClusterIP), externalText(o), servicePorts(o.Spec.Ports), mapText(o.Spec.Selector),
		}
	}, text("Type", corev1.ServiceSpec{}.SwaggerDoc()["type"]), text("Cluster-IP", "Address within the cluster."),
		text("External-IP", "Addresses or name for others."), text("Port(s)", "Ports, on nodes as well, and protocols."),
		wide(text("Selector", "Selector of the pods behind it."))),
	//lint:ignore SA1019 clients still list them
	{Resource: "endpoints"}: named(func(o *corev1.Endpoints) []any {
		return []any{endpointText(o)}
	}, text("Endpoints", "Addresses and ports.")),
	{Group: "discovery.k8s.io", Resource: "endpointslices"}: named(func(o *discoveryv1.EndpointSlice) []any {
		return []any{string(o.AddressType), slicePorts(o.Ports), sliceAddresses(o.Endpoints)}
	}, text("AddressType", "Kind of the addresses."), text("Ports", "Ports of every endpoint."),
		text("Endpoints", "Addresses.")),
	{Group: "networking.k8s.io", Resource: "ingresses"}: named(func(o *networkingv1.Ingress) []any {
		return []any{derefOr(o.Spec.IngressClassName, noneCell), ingressHosts(o), ingressAddress(o), ingressPorts(o)}
	}, text("Class", "Class that implements it."), text("Hosts", "Hosts that it serves."),
		text("Address", "Addresses of its load balancer."), text("Ports", "Ports that it serves.")),
	{Group: "networking.k8s.io", Resource: "ingressclasses"}: named(func(o *networkingv1.IngressClass) []any {
		parameters := noneCell
		if p := o.Spec.Parameters; p != nil {
			parameters = p.Kind
			if p.APIGroup != nil {
				parameters += "." + *p.APIGroup
			}
			parameters += "/" + p.Name
		}
		return []any{o.Spec.Controller, parameters}
	}, text("Controller", "Controller of the class."), text("Parameters", "Object with its parameters.")),
	{Group: "networking.k8s.io", Resource: "networkpolicies"}: named(func(o *networkingv1.NetworkPolicy) []any {
		return []any{selectorText(&o.Spec.PodSelector)}
	}, text("Pod-Selector", "Pods that it is about.")),
	{Group: "networking.k8s.io", Resource: "servicecidrs"}: named(func(o *networkingv1.ServiceCIDR) []any {
		return []any{strings.Join(o.Spec.CIDRs, ",")}
	}, text("CIDRs", "Ranges of addresses.")),
	{Group: "networking.k8s.io", Resource: "ipaddresses"}: named(func(o *networkingv1.IPAddress) []any {
		ref := o.Spec.ParentRef
		if ref == nil {
			return []any{noneCell}
		}
		parent := ref.Resource
		if ref.Group != "" {
			parent += "." + ref.Group
		}
		if ref.Namespace != "" {
			parent += "/" + ref.Namespace
		}
		return []any{parent + "/" + ref.Name}
	}, text("ParentRef", "Object that has the address.")),
}

func serviceType(o *corev1.Service) corev1.ServiceType {
	if o.Spec.Type == "" {
		return corev1.ServiceTypeClusterIP // the default
	}
	return o.Spec.Type
}

func externalText(o *corev1.Service) string {
	switch serviceType(o) {
	case corev1.ServiceTypeExternalName:
		return o.Spec.ExternalName
	case corev1.ServiceTypeLoadBalancer:
		addresses := slices.Clone(o.Spec.ExternalIPs)
		if balancer := balancerText(o.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) (string, string) {
			return i.IP, i.Hostname
		}); balancer != "" {
			addresses = append([]string{balancer}, addresses...)
		}
		if len(addresses) == 0 {
			return "<pending>"
		}
		return strings.Join(addresses, ",")
	}
	return joinOrNone(o.Spec.ExternalIPs, ",")
}

// balancerText joins addresses, or names where there are none, each once.
func balancerText[T any](ingress []T, of func(T) (ip, name string)) string {
	var found []string
	for _, i := range ingress {
		ip, name := of(i)
		if ip == "" {
			ip = name
		}
		if ip != "" {
			found = append(found, ip)
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), ",")
}

func servicePorts(ports []corev1.ServicePort) string {
	var texts []string
	for _, p := range ports {
		port := strconv.Itoa(int(p.Port))
		if p.NodePort > 0 {
			port += ":" + strconv.Itoa(int(p.NodePort))
		}
		protocol := p.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		texts = append(texts, port+"/"+string(protocol))
	}
	return joinOrNone(texts, ",")
}

const mostEndpoints = 3

//lint:ignore SA1019 clients still list them
func endpointText(o *corev1.Endpoints) string {
	var texts []string
	for _, subset := range o.Subsets {
		for _, a := range subset.Addresses {
			if len(subset.Ports) == 0 {
				texts = append(texts, a.IP)
			}
			for _, p := range subset.Ports {
				texts = append(texts, hostPort(a.IP, p.Port))
			}
		}
	}
	return atMost(texts, mostEndpoints)
}

func hostPort(ip string, port int32) string {
	if strings.Contains(ip, ":") {
		ip = "[" + ip + "]"
	}
	return fmt.Sprintf("%s:%d", ip, port)
}

func slicePorts(ports []discoveryv1.EndpointPort) string {
	var texts []string
	for _, p := range ports {
		port := "*"
		if p.Port != nil {
			port = strconv.Itoa(int(*p.Port))
		} else if deref(p.Name) != "" {
			port = *p.Name
		}
		texts = append(texts, port)
	}
	if len(texts) == 0 {
		return unsetCell
	}
	return atMost(texts, mostEndpoints)
}

func sliceAddresses(endpoints []discoveryv1.Endpoint) string {
	var texts []string
	for _, e := range endpoints {
		texts = append(texts, e.Addresses...)
	}
	if len(texts) == 0 {
		return unsetCell
	}
	return atMost(texts, mostEndpoints)
}

func ingressHosts(o *networkingv1.Ingress) string {
	var hosts []string
	for _, r := range o.Spec.Rules {
		if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	return atMost(hosts, mostEndpoints)
}

func ingressAddress(o *networkingv1.Ingress) string {
	return balancerText(o.Status.LoadBalancer.Ingress, func(i networkingv1.IngressLoadBalancerIngress) (string, string) {
		return i.IP, i.Hostname
	})
}

func ingressPorts(o *networkingv1.Ingress) string {
	if len(o.Spec.TLS) > 0 {
		return "80, 443"
	}
	return "80"
}
