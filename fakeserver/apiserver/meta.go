package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateNew checks an object to be created.
func validateNew(r *resource, content runtime.Object, obj metav1.Object) error {
	if r.custom != nil {
		return r.custom.validate(content, nil, "")
	}
	errs := validation.ValidateObjectMetaAccessor(obj, r.namespaced, r.stored.behaviour.nameFunc(), field.NewPath("metadata"))
	errs = append(errs, validateFinalizers(obj.GetFinalizers())...)
	return invalid(r, obj.GetName(), append(errs, validateContent(content, nil)...))
}

// standardFinalizers need no domain.
var standardFinalizers = []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}

func validateFinalizers(finalizers []string) field.ErrorList {
	var errs field.ErrorList
	for i, f := range finalizers {
		if !strings.Contains(f, "/") && !slices.Contains(standardFinalizers, f) {
			errs = append(errs, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), f,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// dropDuplicateOwners keeps one reference to each owner, and warns.
func dropDuplicateOwners(w http.ResponseWriter, obj metav1.Object) {
	var kept []metav1.OwnerReference
	var twice []string
	for _, ref := range obj.GetOwnerReferences() {
		if slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(k, ref) }) {
			twice = append(twice, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	if len(twice) == 0 {
		return
	}
	obj.SetOwnerReferences(kept)
	addWarning(w, ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "+
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "+
		strings.Join(twice, ", "))
}

// invalid makes the answer of what was found, each problem once.
func invalid(r *resource, name string, found field.ErrorList) error {
	var errs field.ErrorList
	for _, err := range found {
		if !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Error() == err.Error() }) {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: r.stored.gvk.Group, Kind: r.gvk.Kind}, name, errs)
}

// explainExists says, of a name that is taken, whether it will become free.
func (c *collection) explainExists(ctx context.Context, obj metav1.Object, exists error) error {
	current, err := c.get(ctx, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return exists
	}
	holder, err := meta.Accessor(current.object)
	var status *apierrors.StatusError
	if err != nil || holder.GetDeletionTimestamp() == nil || !errors.As(exists, &status) {
		return exists
	}
	status.ErrStatus.Message = "object is being deleted: " + status.ErrStatus.Message
	return status
}

// inherit gives next what an update cannot change, from old, and checks the
// rest of the metadata. Both are of the stored kind.
func (q *request) inherit(next, old runtime.Object) error {
	r := q.resource
	nextMeta, oldMeta, err := accessors(next, old)
	if err != nil {
		return err
	}
	nextMeta.SetCreationTimestamp(oldMeta.GetCreationTimestamp())
	nextMeta.SetGeneration(oldMeta.GetGeneration())
	nextMeta.SetResourceVersion(oldMeta.GetResourceVersion())
	if nextMeta.GetUID() == "" {
		nextMeta.SetUID(oldMeta.GetUID())
	}
	if nextMeta.GetDeletionTimestamp() == nil {
		nextMeta.SetDeletionTimestamp(oldMeta.GetDeletionTimestamp())
	}
	if nextMeta.GetDeletionGracePeriodSeconds() == nil {
		nextMeta.SetDeletionGracePeriodSeconds(oldMeta.GetDeletionGracePeriodSeconds())
	}
	if r.custom != nil {
		return r.custom.validate(next, old, q.subresource)
	}
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(nextMeta, r.namespaced, anyName, path)
	errs = append(errs, validateFinalizers(nextMeta.GetFinalizers())...)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(nextMeta, oldMeta, path)...)
	if q.subresource != "status" || !isDefinition(r.stored.resource) {
		errs = append(errs, validateContent(next, old)...)
	}
	return invalid(r, nextMeta.GetName(), errs)
}

// anyName: a name that exists was checked when it was created.
func anyName(string, bool) []string { return nil }

func accessors(a, b runtime.Object) (metav1.Object, metav1.Object, error) {
	first, err := meta.Accessor(a)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	second, err := meta.Accessor(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return first, second, nil
}

// countChange bumps the generation if what it counts has changed.
func countChange(r *resource, next, old runtime.Object) {
	k := r.stored
	if !k.behaviour.generation {
		return
	}
	nextMeta, oldMeta, err := accessors(next, old)
	if err != nil {
		return
	}
	changed := r.contentChanged(next, old)
	if k.behaviour.annotationsCount {
		changed = changed || !equality.Semantic.DeepEqual(nextMeta.GetAnnotations(), oldMeta.GetAnnotations())
	}
	if changed {
		nextMeta.SetGeneration(oldMeta.GetGeneration() + 1)
	}
}

// contentChanged compares everything but metadata and, where it is apart, status.
func (r *resource) contentChanged(a, b runtime.Object) bool {
	if r.custom != nil {
		x, ok := a.(*unstructured.Unstructured)
		y, ok2 := b.(*unstructured.Unstructured)
		return ok && ok2 && customChanged(x, y, r.custom.status)
	}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		switch va.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !equality.Semantic.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
			return true
		}
	}
	return false
}

// copyField sets a top-level field of dst to that of src, if there is one.
func copyField(dst, src runtime.Object, name string) {
	from := reflect.ValueOf(src).Elem().FieldByName(name)
	to := reflect.ValueOf(dst).Elem().FieldByName(name)
	if from.IsValid() && to.IsValid() {
		to.Set(from)
	}
}

func clearField(obj runtime.Object, name string) {
	if loose, ok := obj.(*unstructured.Unstructured); ok {
		delete(loose.Object, strings.ToLower(name))
		return
	}
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		f.SetZero()
	}
}

// errUID answers a write that names the uid of another object.
func (c *collection) errUID(namespace, name string, wanted, actual types.UID) error {
	key := "/registry/" + c.kind.resource.Resource + "/" + name
	if namespace != "" {
		key = "/registry/" + c.kind.resource.Resource + "/" + namespace + "/" + name
	}
	return apierrors.NewConflict(c.kind.resource, name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, "+
		"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		key, wanted, actual))
}

// goneWith says whether a state may be removed from the store: it waits for
// deletion, and for nobody.
func goneWith(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	if err != nil || accessor.GetDeletionTimestamp() == nil || len(accessor.GetFinalizers()) > 0 {
		return false
	}
	if seconds := accessor.GetDeletionGracePeriodSeconds(); seconds != nil && *seconds > 0 {
		return false
	}
	return len(specFinalizers(obj)) == 0
}

func without(list []string, dropped ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(dropped, s) })
}
