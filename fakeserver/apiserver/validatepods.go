package apiserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// mayChange is what a real server says, before it shows the difference, of a
// change of anything else.
const mayChange = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
	"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"

func validatePod(next, old *corev1.Pod) field.ErrorList {
	path := field.NewPath("spec")
	if old == nil {
		return append(validateSeccomp(next.Annotations), validatePodSpec(&next.Spec, path)...)
	}
	var errs field.ErrorList
	if next.Status.NominatedNodeName != old.Status.NominatedNodeName && next.Spec.NodeName != "" && next.Status.NominatedNodeName != "" {
		errs = append(errs, field.Forbidden(field.NewPath("status", "nominatedNodeName"),
			"may not be set on pods that are already bound to a node"))
	}
	if equality.Semantic.DeepEqual(next.Spec, old.Spec) {
		return errs
	}
	if len(next.Spec.Containers) != len(old.Spec.Containers) || len(next.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return append(errs, field.Forbidden(path.Child("containers"), "pod updates may not add or remove containers"))
	}
	errs = append(errs, validatePodSpec(&next.Spec, path)...)
	errs = append(errs, validateDeadline(next.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds, path.Child("activeDeadlineSeconds"))...)
	errs = append(errs, validateTolerations(next.Spec.Tolerations, old.Spec.Tolerations, path.Child("tolerations"))...)
	if len(errs) > 0 {
		return errs
	}
	if !equality.Semantic.DeepEqual(*withChangeable(&next.Spec, &old.Spec), old.Spec) {
		errs = append(errs, field.Forbidden(path, mayChange))
	}
	return errs
}

// validateDeadline: it may be set, and go down.
func validateDeadline(next, old *int64, path *field.Path) field.ErrorList {
	switch {
	case next == nil && old != nil:
		return field.ErrorList{field.Invalid(path, next, "must not update from a positive integer to nil value")}
	case next != nil && *next < 0:
		return field.ErrorList{field.Invalid(path, *next, "must be greater than or equal to 0")}
	case next != nil && old != nil && *next > *old:
		return field.ErrorList{field.Invalid(path, *next, "must be less than or equal to previous value")}
	}
	return nil
}

// validateTolerations: they may be added, and their seconds may change.
func validateTolerations(next, old []corev1.Toleration, path *field.Path) field.ErrorList {
	for _, was := range old {
		kept := slices.ContainsFunc(next, func(is corev1.Toleration) bool {
			is.TolerationSeconds = was.TolerationSeconds
			return equality.Semantic.DeepEqual(is, was)
		})
		if !kept {
			return field.ErrorList{field.Forbidden(path, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

// withChangeable returns a copy of next with the old value of all that may
// change.
func withChangeable(next, old *corev1.PodSpec) *corev1.PodSpec {
	same := next.DeepCopy()
	for i := range same.Containers {
		same.Containers[i].Image = old.Containers[i].Image
	}
	for i := range same.InitContainers {
		same.InitContainers[i].Image = old.InitContainers[i].Image
	}
	same.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	same.Tolerations = old.Tolerations
	same.EphemeralContainers = old.EphemeralContainers // changed through a subresource
	if g := old.TerminationGracePeriodSeconds; g != nil && *g < 0 && next.TerminationGracePeriodSeconds != nil && *next.TerminationGracePeriodSeconds == 1 {
		same.TerminationGracePeriodSeconds = g
	}
	if len(next.SchedulingGates) < len(old.SchedulingGates) { // the node may be chosen, too
		same.SchedulingGates = old.SchedulingGates
		same.NodeSelector, same.Affinity = old.NodeSelector, old.Affinity
	}
	return same
}

var (
	restartPolicies = []corev1.RestartPolicy{corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever}
	dnsPolicies     = []corev1.DNSPolicy{corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone}
	pullPolicies    = []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}
)

func oneOf[T ~string](value T, allowed []T, path *field.Path) field.ErrorList {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

func problemsOf(path *field.Path, value string, problems []string) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range problems {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}

func validatePodSpec(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range spec.Containers {
		c, at := &spec.Containers[i], path.Child("containers").Index(i)
		errs = append(errs, validateContainer(c, at, volumes, spec.HostNetwork)...)
		if seen[c.Name] && c.Name != "" {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		seen[c.Name] = true
	}
	errs = append(errs, oneOf(spec.RestartPolicy, restartPolicies, path.Child("restartPolicy"))...)
	errs = append(errs, oneOf(spec.DNSPolicy, dnsPolicies, path.Child("dnsPolicy"))...)
	errs = append(errs, metavalidation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector"))...)
	if spec.NodeName != "" {
		errs = append(errs, problemsOf(path.Child("nodeName"), spec.NodeName, validation.NameIsDNSSubdomain(spec.NodeName, false))...)
	}
	return errs
}

func validateContainer(c *corev1.Container, path *field.Path, volumes map[string]bool, hostNetwork bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case c.Name != "":
		errs = append(errs, problemsOf(path.Child("name"), c.Name, utilvalidation.IsDNS1123Label(c.Name))...)
	case c.Image != "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if c.Name != "" && c.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), ""))
	}
	for i, p := range c.Ports {
		at := path.Child("ports").Index(i)
		switch {
		case p.ContainerPort == 0:
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		default:
			for _, problem := range utilvalidation.IsValidPortNum(int(p.ContainerPort)) {
				errs = append(errs, field.Invalid(at.Child("containerPort"), p.ContainerPort, problem))
			}
		}
		if hostNetwork && p.HostPort != 0 && p.HostPort != p.ContainerPort {
			errs = append(errs, field.Invalid(at.Child("hostPort"), p.HostPort, "must match `containerPort` when `hostNetwork` is true"))
		}
	}
	for i, e := range c.Env {
		if e.Name == "" {
			errs = append(errs, field.Required(path.Child("env").Index(i).Child("name"), ""))
		}
	}
	for i, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			errs = append(errs, field.NotFound(path.Child("volumeMounts").Index(i).Child("name"), m.Name))
		}
	}
	errs = append(errs, oneOf(c.ImagePullPolicy, pullPolicies, path.Child("imagePullPolicy"))...)
	return append(errs, validateResources(&c.Resources, path.Child("resources", "requests"))...)
}

func validateResources(r *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		if limit, has := r.Limits[name]; has && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path, request.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String()))
		}
	}
	return errs
}

// warnPod says what is allowed, but surprises.
func warnPod(obj metav1.Object) []string {
	var warnings []string
	// The name becomes a hostname.
	if problems := utilvalidation.IsDNS1123Label(obj.GetName()); obj.GetName() != "" && len(problems) > 0 {
		warnings = append(warnings, fmt.Sprintf("metadata.name: this is used in the Pod's hostname, which can result in "+
			"surprising behavior; a DNS label is recommended: %v", problems))
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return warnings
	}
	for i, c := range pod.Spec.Containers {
		seen := map[string]bool{}
		for j, e := range c.Env {
			if seen[e.Name] {
				warnings = append(warnings, fmt.Sprintf("spec.containers[%d].env[%d]: hides previous definition of %q, "+
					"which may be dropped when using apply", i, j, e.Name))
			}
			seen[e.Name] = true
		}
	}
	return warnings
}

// validateSeccomp checks the annotation that chose a profile before there was a
// field for it.
func validateSeccomp(annotations map[string]string) field.ErrorList {
	const key = corev1.SeccompPodAnnotationKey
	profile, set := annotations[key]
	if !set || profile == "unconfined" || profile == "runtime/default" || profile == "docker/default" || strings.HasPrefix(profile, "localhost/") {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Child(key), profile, "must be a valid seccomp profile")}
}
