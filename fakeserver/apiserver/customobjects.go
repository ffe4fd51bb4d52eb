package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// looseKinds makes unstructured objects of any kind, for serializers and
// trackers.
type looseKinds struct{}

// New implements runtime.ObjectCreater.
func (looseKinds) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return newLoose(kind), nil
}

// ObjectKinds implements runtime.ObjectTyper.
func (looseKinds) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{obj.GetObjectKind().GroupVersionKind()}, false, nil
}

// Recognizes implements runtime.ObjectTyper.
func (looseKinds) Recognizes(schema.GroupVersionKind) bool { return true }

// Default implements runtime.ObjectDefaulter: defaults come with toStored.
func (looseKinds) Default(runtime.Object) {}

func newLoose(kind schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	return u
}

var (
	looseJSONCodec = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, looseKinds{}, looseKinds{},
		jsonserializer.SerializerOptions{Strict: true})
	looseYAMLCodec = jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, looseKinds{}, looseKinds{},
		jsonserializer.SerializerOptions{Yaml: true, Strict: true})
)

// decode is decodeKind for objects of the version; that they are is not checked.
// What the schema does not know is pruned and among the problems.
func (v *customVersion) decode(data []byte, f format) (obj runtime.Object, problems []error, got *schema.GroupVersionKind, err error) {
	codec := looseJSONCodec
	if f == formatYAML {
		codec = looseYAMLCodec
	}
	obj, got, err = codec.Decode(data, nil, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		problems, err = strict.Errors(), nil
	}
	if err != nil {
		return nil, nil, got, err
	}
	loose, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, nil, got, fmt.Errorf("%w: %T is no custom object", ErrCodec, obj)
	}
	unknown, err := tidyMetadata(loose.Object)
	if err != nil {
		return nil, nil, got, err
	}
	for _, path := range v.schema.Prune(loose.Object) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", path))
	}
	return obj, append(problems, unknown...), got, nil
}

// tidyMetadata makes metadata what it is for all kinds, and returns what was
// unknown in it.
func tidyMetadata(content map[string]any) (unknown []error, err error) {
	given, has := content["metadata"]
	if !has {
		return nil, nil
	}
	data, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	var known metav1.ObjectMeta
	problems, err := kjson.UnmarshalStrict(data, &known)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		unknown = append(unknown, fmt.Errorf("%s", strings.Replace(p.Error(), `field "`, `field "metadata.`, 1)))
	}
	tidy, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&known)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	if known.CreationTimestamp.IsZero() {
		delete(tidy, "creationTimestamp") // it would be null
	}
	content["metadata"] = tidy
	return unknown, nil
}

// toStored is see there: obj gets the defaults of the version in which it came.
// It is not pruned yet, so that it can still be seen who manages what.
func (v *customVersion) toStored(obj runtime.Object) (runtime.Object, error) {
	loose, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%w: %T is no custom object", ErrCodec, obj)
	}
	var errs field.ErrorList
	got := loose.GroupVersionKind()
	if got.Kind != v.gvk.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), got.Kind, "must be "+v.gvk.Kind))
	}
	if want := v.gvk.GroupVersion().String(); loose.GetAPIVersion() != want {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), loose.GetAPIVersion(), "must be "+want))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(got.GroupKind(), loose.GetName(), errs)
	}
	v.schema.Default(loose.Object)
	loose.SetGroupVersionKind(v.of.stored.gvk)
	return loose, nil
}

// shownOf is obj, which is of the stored kind, as the version shows it.
func (v *customVersion) shownOf(obj runtime.Object) (runtime.Object, error) {
	loose, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%w: %T is no custom object", ErrCodec, obj)
	}
	if v == v.of.storage {
		return obj, nil
	}
	shown := loose.DeepCopy()
	v.schema.Prune(shown.Object)
	shown.SetGroupVersionKind(v.gvk)
	return shown, nil
}

// encode makes the bytes that are stored: JSON with sorted names, pruned to what
// the version for storage knows.
func (c *customResource) encode(obj runtime.Object) ([]byte, error) {
	loose, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%w: %T is no custom object", ErrCodec, obj)
	}
	kept := loose.DeepCopy()
	kept.SetGroupVersionKind(c.stored.gvk)
	kept.SetResourceVersion("")
	c.storage.schema.Prune(kept.Object)
	data, err := json.Marshal(kept.Object)
	if err != nil {
		return nil, fmt.Errorf("%w: encode %s: %w", ErrCodec, c.stored.gvk, err)
	}
	return data, nil
}

// decode is the reverse of encode. What was stored under an older schema is
// shown as under the one of now.
func (c *customResource) decode(kv storage.KeyValue) (runtime.Object, error) {
	loose := &unstructured.Unstructured{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(kv.Value, &loose.Object); err != nil {
		return nil, fmt.Errorf("%w: decode %s: %w", ErrCodec, kv.Key, err)
	}
	c.storage.schema.Prune(loose.Object)
	c.storage.schema.Default(loose.Object)
	loose.SetGroupVersionKind(c.stored.gvk)
	return loose, setVersion(loose, kv.ModRevision)
}

// validate checks an object of the stored kind, with or without what a real
// server checks twice. What was wrong before and was not changed is let pass.
func (v *customVersion) validate(next, old runtime.Object, subresource string) error {
	loose, ok := next.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%w: %T is no custom object", ErrCodec, next)
	}
	statusOnly := subresource == "status"
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(loose, v.of.stored.namespaced, validation.NameIsDNSSubdomain, path)
	found := append(v.schema.Validate(loose.Object, statusOnly), v.validateScale(loose, statusOnly)...)
	if before, ok := old.(*unstructured.Unstructured); ok {
		fixed := validation.ValidateObjectMetaAccessorUpdate(loose, before, path)
		errs = append(append(errs, fixed...), fixed...) // recorded: it is checked twice
		known := v.schema.Validate(before.Object, statusOnly)
		found = slices.DeleteFunc(found, func(e *field.Error) bool {
			return slices.ContainsFunc(known, func(k *field.Error) bool { return k.Error() == e.Error() })
		})
	}
	if errs = append(errs, found...); len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v.gvk.GroupKind(), loose.GetName(), errs)
}

// validateScale: the fields that /scale shows must be what it can show.
func (v *customVersion) validateScale(obj *unstructured.Unstructured, statusOnly bool) field.ErrorList {
	if v.scale == nil {
		return nil
	}
	paths := []string{v.scale.SpecReplicasPath, v.scale.StatusReplicasPath}
	if statusOnly {
		paths = paths[1:]
	}
	var errs field.ErrorList
	for _, path := range paths {
		replicas, has, err := unstructured.NestedInt64(obj.Object, crd.Path(path)...)
		switch at := field.NewPath(path); {
		case err != nil:
			errs = append(errs, field.Invalid(at, nil, err.Error()))
		case has && replicas < 0:
			errs = append(errs, field.Invalid(at, replicas, "should be a non-negative integer"))
		}
	}
	return errs
}

// merge is see there.
func (v *customVersion) merge(sent, old runtime.Object, subresource string) runtime.Object {
	next, ok := sent.(*unstructured.Unstructured)
	before, ok2 := old.(*unstructured.Unstructured)
	switch {
	case !ok || !ok2:
	case subresource == "status":
		return mergeStatus(next, before)
	case v.status && subresource == "":
		copyMember(next, before.DeepCopy(), "status")
	}
	return sent
}

// mergeStatus is the new state of an object whose /status was written: nothing
// but the status and its managers is taken.
func mergeStatus(sent, old *unstructured.Unstructured) *unstructured.Unstructured {
	next := old.DeepCopy()
	next.SetManagedFields(sent.GetManagedFields())
	next.SetUID(sent.GetUID())
	copyMember(next, sent, "status")
	return next
}

func copyMember(dst, src *unstructured.Unstructured, name string) {
	if value, has := src.Object[name]; has {
		dst.Object[name] = value
	} else {
		delete(dst.Object, name)
	}
}

// customChanged is contentChanged for custom objects; a status that has no
// subresource of its own counts.
func customChanged(a, b *unstructured.Unstructured, hasStatus bool) bool {
	rest := func(u *unstructured.Unstructured) map[string]any {
		content := maps.Clone(u.Object)
		delete(content, "metadata")
		if hasStatus {
			delete(content, "status")
		}
		return content
	}
	return !equality.Semantic.DeepEqual(rest(a), rest(b))
}

// shallowLoose copies obj and its metadata, and shares the rest.
func shallowLoose(obj *unstructured.Unstructured) *unstructured.Unstructured {
	copied := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	if metadata, ok := copied.Object["metadata"].(map[string]any); ok {
		copied.Object["metadata"] = maps.Clone(metadata)
	}
	return copied
}

// warnFinalizers tells who wrote a custom object of finalizers that others may
// use as well. Other kinds refuse them.
func (q *request) warnFinalizers(obj runtime.Object) {
	loose, ok := obj.(*unstructured.Unstructured)
	if !ok || q.subresource != "" {
		return
	}
	const at = "metadata.finalizers"
	for _, name := range loose.GetFinalizers() {
		for _, problem := range utilvalidation.IsQualifiedName(name) {
			addWarning(q.w, fmt.Sprintf("%s: %q: %s", at, name, problem))
		}
		if strings.Contains(name, "/") || slices.Contains(standardFinalizers, name) {
			continue
		}
		advice := "prefer a domain-qualified finalizer name"
		if strings.Contains(name, ".") {
			advice += " including a path (/)"
		}
		addWarning(q.w, fmt.Sprintf("%s: %q: %s to avoid accidental conflicts with other finalizer writers", at, name, advice))
	}
}

// customCells are the cells of an object beside its name.
func customCells(columns []*crd.Column, obj *unstructured.Unstructured) []any {
	cells := make([]any, len(columns))
	for i, c := range columns {
		cells[i] = c.Cell(obj.Object)
		if at, ok := cells[i].(time.Time); ok {
			cells[i] = ageOf(metav1.NewTime(at))
		}
	}
	return cells
}

// errVersion answers a body of another version than the path.
func errVersion(got, want schema.GroupVersion) error {
	return apierrors.NewBadRequest(fmt.Sprintf(
		"the API version in the data (%s) does not match the expected API version (%s)", got, want))
}

// errCustomPatchType is errPatchType for what has no Go type to merge by.
func errCustomPatchType() error {
	return errBody(strings.Join(slices.DeleteFunc(slices.Clone(patchTypes), isStrategic), ", "))
}
