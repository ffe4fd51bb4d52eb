package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The release whose behaviour is imitated.
const (
	emulatedMajor = 1
	emulatedMinor = 37
)

// groupOrder is the order of groups in discovery, which is the order in which
// clients that know only a resource's name try them. Groups that are not here
// come before the last one.
var groupOrder = []string{
	"", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch",
	"certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io",
	"node.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
	"resource.k8s.io", "storagemigration.k8s.io",
}

// lastGroup holds old copies of what other groups have.
const lastGroup = "extensions"

func compareGroups(a, b string) int {
	rank := func(name string) int {
		if name == lastGroup {
			return len(groupOrder) + 1
		}
		if i := slices.Index(groupOrder, name); i >= 0 {
			return i
		}
		return len(groupOrder)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// shortNames are what users type instead of a resource's name. They are known
// to the server only.
var shortNames = map[schema.GroupResource][]string{
	{Resource: "componentstatuses"}:                                        {"cs"},
	{Resource: "configmaps"}:                                               {"cm"},
	{Resource: "endpoints"}:                                                {"ep"},
	{Resource: "events"}:                                                   {"ev"},
	{Resource: "limitranges"}:                                              {"limits"},
	{Resource: "namespaces"}:                                               {"ns"},
	{Resource: "nodes"}:                                                    {"no"},
	{Resource: "persistentvolumeclaims"}:                                   {"pvc"},
	{Resource: "persistentvolumes"}:                                        {"pv"},
	{Resource: "pods"}:                                                     {"po"},
	{Resource: "replicationcontrollers"}:                                   {"rc"},
	{Resource: "resourcequotas"}:                                           {"quota"},
	{Resource: "serviceaccounts"}:                                          {"sa"},
	{Resource: "services"}:                                                 {"svc"},
	{Group: "apps", Resource: "daemonsets"}:                                {"ds"},
	{Group: "apps", Resource: "deployments"}:                               {"deploy"},
	{Group: "apps", Resource: "replicasets"}:                               {"rs"},
	{Group: "apps", Resource: "statefulsets"}:                              {"sts"},
	{Group: "extensions", Resource: "daemonsets"}:                          {"ds"},
	{Group: "extensions", Resource: "deployments"}:                         {"deploy"},
	{Group: "extensions", Resource: "ingresses"}:                           {"ing"},
	{Group: "extensions", Resource: "networkpolicies"}:                     {"netpol"},
	{Group: "extensions", Resource: "replicasets"}:                         {"rs"},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}: {"crd", "crds"},
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}:           {"hpa"},
	{Group: "batch", Resource: "cronjobs"}:                                 {"cj"},
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: {"csr"},
	{Group: "events.k8s.io", Resource: "events"}:                           {"ev"},
	{Group: "networking.k8s.io", Resource: "ingresses"}:                    {"ing"},
	{Group: "networking.k8s.io", Resource: "ipaddresses"}:                  {"ip"},
	{Group: "networking.k8s.io", Resource: "networkpolicies"}:              {"netpol"},
	{Group: "policy", Resource: "poddisruptionbudgets"}:                    {"pdb"},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"}:              {"pc"},
	{Group: "storage.k8s.io", Resource: "storageclasses"}:                  {"sc"},
	{Group: "storage.k8s.io", Resource: "volumeattributesclasses"}:         {"vac"},
}

// inCategoryAll are the resources that "all" stands for.
var inCategoryAll = map[schema.GroupResource]bool{
	{Resource: "pods"}: true, {Resource: "services"}: true, {Resource: "replicationcontrollers"}: true,
	{Group: "apps", Resource: "daemonsets"}: true, {Group: "apps", Resource: "deployments"}: true,
	{Group: "apps", Resource: "replicasets"}: true, {Group: "apps", Resource: "statefulsets"}: true,
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: true,
	{Group: "batch", Resource: "jobs"}:                           true, {Group: "batch", Resource: "cronjobs"}: true,
}

// categoriesOf returns the categories that discovery names.
func categoriesOf(gr schema.GroupResource) []string {
	switch {
	case inCategoryAll[gr]:
		return []string{"all"}
	case gr.Group == "admissionregistration.k8s.io", isDefinition(gr):
		return []string{"api-extensions"}
	}
	return nil
}

// storageResource says under which resource the objects of gr are kept. Events
// are one set of objects that two groups show.
func storageResource(gr schema.GroupResource) schema.GroupResource {
	if gr.Group == "events.k8s.io" && gr.Resource == "events" {
		return schema.GroupResource{Resource: "events"}
	}
	return gr
}
