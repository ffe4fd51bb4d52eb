package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldLabels says which field selectors a stored kind has. The zero value has
// metadata.name and metadata.namespace only.
type fieldLabels struct {
	known   []string                            // beside the two of metadata
	aliases map[string]string                   // other names of known fields
	values  func(obj runtime.Object) fields.Set // of known
}

// convert maps a label of a selector to the name under which values reports it.
func (l fieldLabels) convert(label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" || slices.Contains(l.known, label) {
		return label, value, nil
	}
	if name, ok := l.aliases[label]; ok {
		return name, value, nil
	}
	if l.known == nil {
		return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", label, "metadata.name", "metadata.namespace")
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// set returns all fields of obj that a selector may name.
func (l fieldLabels) set(obj runtime.Object) fields.Set {
	set := fields.Set{}
	if accessor, err := meta.Accessor(obj); err == nil {
		set["metadata.name"] = accessor.GetName()
		set["metadata.namespace"] = accessor.GetNamespace()
	}
	if l.values != nil {
		maps.Copy(set, l.values(obj))
	}
	return set
}

func fieldLabelsOf(gr schema.GroupResource) fieldLabels { return knownFieldLabels[gr] }

// labelsFor makes the table of one kind. A function that is called with an
// object of another kind reports nothing.
func labelsFor[T runtime.Object](values func(T) fields.Set, known ...string) fieldLabels {
	return fieldLabels{known: known, values: func(obj runtime.Object) fields.Set {
		if typed, ok := obj.(T); ok {
			return values(typed)
		}
		return nil
	}}
}

var knownFieldLabels = map[schema.GroupResource]fieldLabels{
	{Resource: "pods"}: podLabels(),
	{Resource: "nodes"}: labelsFor(func(o *corev1.Node) fields.Set {
		return fields.Set{"spec.unschedulable": strconv.FormatBool(o.Spec.Unschedulable)}
	}, "spec.unschedulable"),
	{Resource: "namespaces"}: labelsFor(func(o *corev1.Namespace) fields.Set {
		return fields.Set{"status.phase": string(o.Status.Phase)}
	}, "status.phase"),
	{Resource: "secrets"}: labelsFor(func(o *corev1.Secret) fields.Set {
		return fields.Set{"type": string(o.Type)}
	}, "type"),
	{Resource: "services"}: labelsFor(func(o *corev1.Service) fields.Set {
		return fields.Set{"spec.clusterIP": o.Spec.ClusterIP, "spec.type": string(o.Spec.Type)}
	}, "spec.clusterIP", "spec.type"),
	{Resource: "replicationcontrollers"}: labelsFor(func(o *corev1.ReplicationController) fields.Set {
		return fields.Set{"status.replicas": strconv.Itoa(int(o.Status.Replicas))}
	}, "status.replicas"),
	{Resource: "events"}: eventLabels(),
	{Group: "batch", Resource: "jobs"}: labelsFor(func(o *batchv1.Job) fields.Set {
		return fields.Set{"status.successful": strconv.Itoa(int(o.Status.Succeeded))}
	}, "status.successful"),
	{Group: "certificates.k8s.io", Resource: "certificatesigningrequests"}: labelsFor(
		func(o *certificatesv1.CertificateSigningRequest) fields.Set {
			return fields.Set{"spec.signerName": o.Spec.SignerName}
		}, "spec.signerName"),
	{Group: "resource.k8s.io", Resource: "resourceslices"}: labelsFor(func(o *resourcev1.ResourceSlice) fields.Set {
		set := fields.Set{"spec.driver": o.Spec.Driver, "spec.nodeName": ""}
		if o.Spec.NodeName != nil {
			set["spec.nodeName"] = *o.Spec.NodeName
		}
		return set
	}, "spec.driver", "spec.nodeName"),
}

func podLabels() fieldLabels {
	l := labelsFor(func(o *corev1.Pod) fields.Set {
		ip := o.Status.PodIP
		if len(o.Status.PodIPs) > 0 {
			ip = o.Status.PodIPs[0].IP
		}
		return fields.Set{
			"spec.nodeName":            o.Spec.NodeName,
			"spec.restartPolicy":       string(o.Spec.RestartPolicy),
			"spec.schedulerName":       o.Spec.SchedulerName,
			"spec.serviceAccountName":  o.Spec.ServiceAccountName,
			"spec.hostNetwork":         strconv.FormatBool(o.Spec.HostNetwork),
			"status.phase":             string(o.Status.Phase),
			"status.podIP":             ip,
			"status.nominatedNodeName": o.Status.NominatedNodeName,
		}
	}, "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.nominatedNodeName")
	l.aliases = map[string]string{"spec.host": "spec.nodeName", "status.podIPs": "status.podIP"}
	return l
}

// eventLabels serves both groups that show events: the newer one calls the
// object that an event is about "regarding".
func eventLabels() fieldLabels {
	about := []string{"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}
	l := labelsFor(func(o *corev1.Event) fields.Set {
		ref := o.InvolvedObject
		source := o.Source.Component
		if source == "" {
			source = o.ReportingController
		}
		return fields.Set{
			"involvedObject.kind": ref.Kind, "involvedObject.namespace": ref.Namespace, "involvedObject.name": ref.Name,
			"involvedObject.uid": string(ref.UID), "involvedObject.apiVersion": ref.APIVersion,
			"involvedObject.resourceVersion": ref.ResourceVersion, "involvedObject.fieldPath": ref.FieldPath,
			"reason": o.Reason, "reportingComponent": o.ReportingController, "source": source, "type": o.Type,
		}
	}, "reason", "reportingComponent", "source", "type")
	l.aliases = map[string]string{"reportingController": "reportingComponent"}
	for _, field := range about {
		l.known = append(l.known, "involvedObject."+field)
		l.aliases["regarding."+field] = "involvedObject." + field
	}
	return l
}

// selectorFor translates the field selector of a request.
func (l fieldLabels) selectorFor(requested fields.Selector) (fields.Selector, error) {
	if requested == nil || requested.Empty() {
		return nil, nil
	}
	return requested.Transform(func(label, value string) (string, string, error) {
		if strings.TrimSpace(label) == "" && value == "" {
			return "", "", nil // "=" alone selects everything
		}
		return l.convert(label, value)
	})
}
