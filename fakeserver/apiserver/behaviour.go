package apiserver

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// behaviour is what a kind does differently from the usual. A real server has
// it in code per kind, so it cannot be read off the clientset.
type behaviour struct {
	validName        validation.ValidateNameFunc // nil: a DNS subdomain
	generation       bool                        // metadata.generation counts changes of the spec
	createOnUpdate   bool                        // PUT of a missing object creates it
	needsVersion     bool                        // PUT without a resourceVersion is refused
	keepStatus       bool                        // POST may set the status
	returnsDeleted   bool                        // DELETE answers with the object
	annotationsCount bool                        // a change of annotations bumps the generation as well

	// orphans: DELETE that names no policy leaves the dependents alone.
	orphans       bool
	warnCreate    func(obj metav1.Object) []string // what to warn the creator of
	warnDelete    string                           // of a deletion that names no policy
	prepareCreate func(obj runtime.Object)
	prepareUpdate func(next, old runtime.Object)
	// gracePeriod makes deletion graceful: how long the object stays, in seconds.
	gracePeriod func(obj runtime.Object, options *metav1.DeleteOptions) int64
}

func (b behaviour) nameFunc() validation.ValidateNameFunc {
	if b.validName == nil {
		return validation.NameIsDNSSubdomain
	}
	return b.validName
}

// segmentName: such names are not made for DNS, but must not change the path.
func segmentName(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

type resourceSet map[schema.GroupResource]bool

func setOf(group string, resources ...string) resourceSet {
	set := resourceSet{}
	for _, r := range resources {
		set[schema.GroupResource{Group: group, Resource: r}] = true
	}
	return set
}

func union(sets ...resourceSet) resourceSet {
	all := resourceSet{}
	for _, set := range sets {
		for gr := range set {
			all[gr] = true
		}
	}
	return all
}

var (
	// withoutGeneration have spec and status but do not count.
	withoutGeneration = union(
		setOf("", "namespaces", "nodes", "services", "persistentvolumes", "persistentvolumeclaims", "resourcequotas"),
		setOf("autoscaling", "horizontalpodautoscalers"), setOf("certificates.k8s.io", "certificatesigningrequests"),
		setOf("resource.k8s.io", "resourceclaims"), setOf("storage.k8s.io", "volumeattachments"))
	// withGeneration count although they have no status.
	withGeneration = union(
		setOf("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
			"validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
		setOf("networking.k8s.io", "networkpolicies", "ingressclasses"), setOf("", "podtemplates"),
		setOf("discovery.k8s.io", "endpointslices"), setOf("resource.k8s.io", "resourceslices", "deviceclasses"))
	createdByUpdate = union(
		setOf("", "events", "services", "endpoints", "limitranges"), setOf("coordination.k8s.io", "leases"),
		setOf("rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles", "clusterrolebindings"))
	needingVersion = union(
		setOf("coordination.k8s.io", "leases"), setOf("policy", "poddisruptionbudgets"),
		setOf("node.k8s.io", "runtimeclasses"), setOf("storage.k8s.io", "csidrivers", "csinodes", "volumeattachments"))
	returningDeleted = union(
		setOf("", "pods", "podtemplates", "persistentvolumes", "persistentvolumeclaims", "resourcequotas", "serviceaccounts"),
		setOf("storage.k8s.io", "storageclasses", "csidrivers", "csinodes", "volumeattachments"))
	namedBySegment = setOf("rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles", "clusterrolebindings")
)

func behaviourOf(gr schema.GroupResource, goType reflect.Type) behaviour {
	b := behaviour{
		generation:       withGeneration[gr] || hasFields(goType, "Spec", "Status") && !withoutGeneration[gr],
		createOnUpdate:   createdByUpdate[gr],
		needsVersion:     needingVersion[gr],
		returnsDeleted:   returningDeleted[gr],
		keepStatus:       gr.String() == "nodes",
		annotationsCount: gr.String() == "deployments.apps",
	}
	if namedBySegment[gr] {
		b.validName = segmentName
	}
	switch gr.String() {
	case "pods":
		b.prepareCreate, b.gracePeriod, b.warnCreate = preparePod, podGracePeriod, warnPod
	case "services":
		b.validName = validation.NameIsDNSLabel
		b.prepareCreate = familyDefaults
	case "namespaces":
		b.validName = validation.NameIsDNSLabel
		b.prepareCreate, b.prepareUpdate = prepareNamespace, keepNamespaceFinalizers
	case "customresourcedefinitions.apiextensions.k8s.io":
		b.needsVersion = true
		b.prepareCreate, b.prepareUpdate = prepareDefinition, func(next, _ runtime.Object) { noteStored(next) }
	case "replicationcontrollers":
		b.orphans = true
	case "daemonsets.apps":
		b.prepareUpdate = countTemplate
	case "jobs.batch":
		b.orphans = true
		b.prepareCreate = selectJob
		b.warnDelete = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background " +
			"to remove them or set propagationPolicy=Orphan to suppress this warning"
	case "persistentvolumes":
		b.prepareCreate = func(obj runtime.Object) {
			if v, ok := obj.(*corev1.PersistentVolume); ok {
				v.Status.Phase = corev1.VolumePending
			}
		}
	case "persistentvolumeclaims":
		b.prepareCreate = func(obj runtime.Object) {
			if c, ok := obj.(*corev1.PersistentVolumeClaim); ok {
				c.Status.Phase = corev1.ClaimPending
			}
		}
	}
	return b
}

func hasFields(goType reflect.Type, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, has := goType.FieldByName(name)
		return !has
	})
}

func preparePod(obj runtime.Object) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.Status.Phase, pod.Status.QOSClass = corev1.PodPending, qosClassOf(&pod.Spec)
	}
}

// foldStringData moves what was written as text to the rest of the data.
func foldStringData(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

// podGracePeriod: a pod that runs nowhere goes at once.
func podGracePeriod(obj runtime.Object, options *metav1.DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return 0
	}
	period := int64(corev1.DefaultTerminationGracePeriodSeconds)
	switch {
	case options.GracePeriodSeconds != nil:
		period = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		period = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	if period < 0 {
		return 1
	}
	return period
}

func prepareNamespace(obj runtime.Object) {
	ns, ok := obj.(*corev1.Namespace)
	if !ok {
		return
	}
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
	labelNamespace(ns)
}

// labelNamespace sets the label by which selectors find one namespace.
func labelNamespace(ns *corev1.Namespace) {
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	if ns.Name != "" {
		ns.Labels[corev1.LabelMetadataName] = ns.Name
	}
}

// keepNamespaceFinalizers: only /finalize changes them.
func keepNamespaceFinalizers(next, old runtime.Object) {
	n, ok := next.(*corev1.Namespace)
	o, ok2 := old.(*corev1.Namespace)
	if ok && ok2 {
		n.Spec.Finalizers = slices.Clone(o.Spec.Finalizers)
		labelNamespace(n)
	}
}
