package apiserver

import (
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

// validateContent checks what a kind says beyond its metadata: what is there and
// wrong, or must not change. What is missing is not asked for, except where the
// object would mean nothing without it: tests make short objects. old is nil
// when the object is created. Both are of the stored kind.
func validateContent(next, old runtime.Object) field.ErrorList {
	switch obj := next.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		before, _ := old.(*apiextensionsv1.CustomResourceDefinition)
		return crd.Validate(obj, before)
	case *corev1.ConfigMap:
		before, _ := old.(*corev1.ConfigMap)
		return validateConfigMap(obj, before)
	case *corev1.Secret:
		before, _ := old.(*corev1.Secret)
		return validateSecret(obj, before)
	case *corev1.Pod:
		before, _ := old.(*corev1.Pod)
		return validatePod(obj, before)
	case *coordinationv1.Lease:
		return validateLease(&obj.Spec)
	case *rbacv1.Role:
		return validateRules(obj.Rules)
	case *rbacv1.ClusterRole:
		return validateRules(obj.Rules)
	case *rbacv1.RoleBinding:
		if before, ok := old.(*rbacv1.RoleBinding); ok {
			return validateRoleRef(obj.RoleRef, before.RoleRef)
		}
	case *rbacv1.ClusterRoleBinding:
		if before, ok := old.(*rbacv1.ClusterRoleBinding); ok {
			return validateRoleRef(obj.RoleRef, before.RoleRef)
		}
	case *batchv1.Job:
		before, _ := old.(*batchv1.Job)
		return validateJob(obj, before)
	case *batchv1.CronJob:
		return validateCronJob(&obj.Spec)
	case *appsv1.Deployment:
		errs := validateTemplate(obj.Spec.Selector, &obj.Spec.Template)
		if before, ok := old.(*appsv1.Deployment); ok {
			errs = append(errs, sameSelector(obj.Spec.Selector, before.Spec.Selector)...)
		}
		return errs
	case *appsv1.ReplicaSet:
		errs := validateTemplate(obj.Spec.Selector, &obj.Spec.Template)
		if before, ok := old.(*appsv1.ReplicaSet); ok {
			errs = append(errs, sameSelector(obj.Spec.Selector, before.Spec.Selector)...)
		}
		return errs
	case *appsv1.DaemonSet:
		errs := validateTemplate(obj.Spec.Selector, &obj.Spec.Template)
		if before, ok := old.(*appsv1.DaemonSet); ok {
			errs = append(errs, sameSelector(obj.Spec.Selector, before.Spec.Selector)...)
		}
		return errs
	}
	return nil
}

// maxDataSize is what all values of a ConfigMap or a Secret may have together.
const maxDataSize = corev1.MaxSecretSize

func validateKeys[V any](data map[string]V, path *field.Path, also func(key string) string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(data)) {
		problems := utilvalidation.IsConfigMapKey(key)
		if more := also(key); more != "" {
			problems = append(problems, more)
		}
		for _, problem := range problems {
			errs = append(errs, field.Invalid(path.Key(key), key, problem))
		}
	}
	return errs
}

func validateConfigMap(next, old *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	if old != nil && isTrue(old.Immutable) {
		errs = append(errs, validateFrozen(isTrue(next.Immutable), map[string]bool{
			"data":       equality.Semantic.DeepEqual(next.Data, old.Data),
			"binaryData": equality.Semantic.DeepEqual(next.BinaryData, old.BinaryData),
		})...)
	}
	size := 0
	errs = append(errs, validateKeys(next.Data, field.NewPath("data"), func(key string) string {
		size += len(next.Data[key])
		if _, twice := next.BinaryData[key]; twice {
			return "duplicate of key present in binaryData"
		}
		return ""
	})...)
	errs = append(errs, validateKeys(next.BinaryData, field.NewPath("binaryData"), func(key string) string {
		size += len(next.BinaryData[key])
		return ""
	})...)
	if size > maxDataSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "" /*unused*/, maxDataSize))
	}
	return errs
}

func isTrue(b *bool) bool { return b != nil && *b }

// validateFrozen: same says of each field whether it is as it was.
func validateFrozen(still bool, same map[string]bool) field.ErrorList {
	const problem = "field is immutable when `immutable` is set"
	var errs field.ErrorList
	if !still {
		errs = append(errs, field.Forbidden(field.NewPath("immutable"), problem))
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(same))) { // data first
		if !same[name] {
			errs = append(errs, field.Forbidden(field.NewPath(name), problem))
		}
	}
	return errs
}

// neededInSecret are the keys that a type of Secret is made of.
var neededInSecret = map[corev1.SecretType][]string{
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
}

func validateSecret(next, old *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	if old != nil {
		errs = append(errs, validation.ValidateImmutableField(next.Type, old.Type, field.NewPath("type"))...)
		if isTrue(old.Immutable) {
			errs = append(errs, validateFrozen(isTrue(next.Immutable), map[string]bool{
				"data": equality.Semantic.DeepEqual(next.Data, old.Data),
			})...)
		}
	}
	path, size := field.NewPath("data"), 0
	errs = append(errs, validateKeys(next.Data, path, func(key string) string {
		size += len(next.Data[key])
		return ""
	})...)
	if size > maxDataSize {
		errs = append(errs, field.TooLong(path, "" /*unused*/, maxDataSize))
	}
	return append(errs, validateSecretType(next, path)...)
}

func validateSecretType(s *corev1.Secret, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range neededInSecret[s.Type] {
		value, has := s.Data[key]
		if !has {
			errs = append(errs, field.Required(path.Key(key), ""))
			continue
		}
		if s.Type == corev1.SecretTypeDockercfg || s.Type == corev1.SecretTypeDockerConfigJson {
			if err := json.Unmarshal(value, &map[string]any{}); err != nil {
				errs = append(errs, field.Invalid(path.Key(key), "<secret contents redacted>", err.Error()))
			}
		}
	}
	switch s.Type {
	case corev1.SecretTypeBasicAuth:
		_, user := s.Data[corev1.BasicAuthUsernameKey]
		_, password := s.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			errs = append(errs, field.Required(path.Key(corev1.BasicAuthUsernameKey), ""),
				field.Required(path.Key(corev1.BasicAuthPasswordKey), ""))
		}
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	}
	return errs
}

func validateLease(spec *coordinationv1.LeaseSpec) field.ErrorList {
	var errs field.ErrorList
	if d := spec.LeaseDurationSeconds; d != nil && *d <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "leaseDurationSeconds"), *d, "must be greater than 0"))
	}
	if n := spec.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	return errs
}

func validateRules(rules []rbacv1.PolicyRule) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(field.NewPath("rules").Index(i).Child("verbs"), ""))
		}
	}
	return errs
}

func validateRoleRef(next, old rbacv1.RoleRef) field.ErrorList {
	// Recorded: the field names are those inside of a real server.
	type inside struct{ APIGroup, Kind, Name string }
	return validation.ValidateImmutableField(inside{next.APIGroup, next.Kind, next.Name},
		inside{old.APIGroup, old.Kind, old.Name}, field.NewPath("roleRef"))
}

// validateTemplate checks the pods that a kind makes of its template, and that
// it finds them.
func validateTemplate(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) field.ErrorList {
	errs := validatePodSpec(&template.Spec, field.NewPath("spec", "template", "spec"))
	if selector == nil {
		return errs
	}
	matcher, err := metav1.LabelSelectorAsSelector(selector)
	switch {
	case err != nil:
		return append(errs, field.Invalid(field.NewPath("spec", "selector"), selector, "invalid label selector"))
	case !matcher.Empty() && !matcher.Matches(labels.Set(template.Labels)):
		mismatch := field.Invalid(field.NewPath("spec", "template", "metadata", "labels"), template.Labels,
			"`selector` does not match template `labels`")
		return append(field.ErrorList{mismatch}, errs...)
	}
	return errs
}

func sameSelector(next, old *metav1.LabelSelector) field.ErrorList {
	return validation.ValidateImmutableField(next, old, field.NewPath("spec", "selector"))
}
