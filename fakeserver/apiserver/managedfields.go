package apiserver

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldSchemas knows the fields of every kind. Reading it takes longer than
// making a server, so it is read when something is first written, once per
// process.
var fieldSchemas = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(kinds)
})

// tracking says for which requests a tracker is.
type tracking struct {
	kind        schema.GroupVersionKind
	subresource string
	custom      *customVersion // nil: it is built in
}

// tracking is what a request tracks the fields of.
func (q *request) tracking() tracking {
	return tracking{kind: q.resource.gvk, subresource: q.subresource, custom: q.resource.custom}
}

// empty is an object of the kind that nobody has written yet.
func (t tracking) empty() (runtime.Object, error) {
	if t.custom != nil {
		return newLoose(t.kind), nil
	}
	return newObject(t.kind)
}

// decode is decodeKind, or what is in its place for custom objects.
func (t tracking) decode(data []byte, f format) (runtime.Object, []error, *schema.GroupVersionKind, error) {
	if t.custom != nil {
		return t.custom.decode(data, f)
	}
	return decodeKind(data, f, t.kind)
}

// trackers holds a *managedfields.FieldManager for each tracking that was
// needed. They know nothing of a server, so all servers share them.
var trackers sync.Map

// trackerFor returns the tracker of the managers of fields.
func trackerFor(t tracking) (*managedfields.FieldManager, error) {
	if t.custom != nil {
		return t.custom.of.tracker(t)
	}
	if found, ok := trackers.Load(t); ok {
		return found.(*managedfields.FieldManager), nil
	}
	gv := t.kind.GroupVersion()
	made, err := managedfields.NewDefaultFieldManager(schemaOf(t.kind), versionConverter{}, kinds, kinds,
		t.kind, gv, t.subresource, fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{
			fieldpath.APIVersion(gv.String()): resetFields(t),
		}))
	if err != nil {
		return nil, fmt.Errorf("%w: fields of %s: %w", ErrCatalog, t.kind, err)
	}
	found, _ := trackers.LoadOrStore(t, made)
	return found.(*managedfields.FieldManager), nil
}

// tracker is trackerFor, with the fields that the definition names.
func (c *customResource) tracker(t tracking) (*managedfields.FieldManager, error) {
	if found, ok := c.trackers.Load(t); ok {
		return found.(*managedfields.FieldManager), nil
	}
	gv := t.kind.GroupVersion()
	made, err := managedfields.NewDefaultCRDFieldManager(c.fields, looseConverter{}, looseKinds{}, looseKinds{}, t.kind, gv, t.subresource,
		fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(gv.String()): resetFields(t)}))
	if err != nil {
		return nil, fmt.Errorf("%w: fields of %s: %w", ErrCatalog, t.kind, err)
	}
	found, _ := c.trackers.LoadOrStore(t, made)
	return found.(*managedfields.FieldManager), nil
}

// schemaOf returns what knows the fields of a kind. Client-go has nothing to
// apply for a few, such as Scale; theirs are taken as they come.
func schemaOf(kind schema.GroupVersionKind) managedfields.TypeConverter {
	known := fieldSchemas()
	empty, err := newObject(kind)
	if err == nil {
		_, err = known.ObjectToTyped(empty)
	}
	if err != nil {
		return managedfields.NewDeducedTypeConverter()
	}
	return known
}

// resetFields are those that a request cannot change, so nobody manages them
// through it.
func resetFields(t tracking) *fieldpath.Set {
	switch {
	case t.custom == nil:
	case t.subresource == "status":
		return fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	case !t.custom.status:
		return fieldpath.NewSet()
	}
	switch t.subresource {
	case "":
		return fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	case "status":
		return fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
	}
	return fieldpath.NewSet()
}

// trackWrite records in next who manages its fields after a write. live is the
// state before, or nil if there is none. Both are of the stored kind; the fields
// are those of the kind that was asked for.
func (q *request) trackWrite(live, next runtime.Object, manager string) error {
	shown, err := q.shown(next)
	if err != nil {
		return err
	}
	of := q.tracking()
	if live == nil {
		return trackNew(of, shown, next, manager)
	}
	before, err := q.shown(live)
	if err != nil {
		return err
	}
	return trackFields(of, before, shown, next, manager)
}

// trackFields sets the managed fields of target to those of after, written over
// before.
func trackFields(t tracking, before, after, target runtime.Object, manager string) error {
	tracker, err := trackerFor(t)
	if err != nil {
		return err
	}
	tracked, _, err := accessors(tracker.UpdateNoErrors(before, after, manager), target)
	if err != nil {
		return err
	}
	written, err := meta.Accessor(target)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	written.SetManagedFields(tracked.GetManagedFields())
	return nil
}

// shown is obj, which is of the stored kind, as the kind that was asked for. It
// may share with obj, but not its metadata.
func (q *request) shown(obj runtime.Object) (runtime.Object, error) {
	converted, err := q.resource.show(obj)
	if err != nil {
		return nil, err
	}
	if converted == obj {
		converted = shallowCopy(obj)
	}
	converted.GetObjectKind().SetGroupVersionKind(q.resource.gvk)
	return converted, nil
}

// show is obj, which is of the stored kind, as an object of the kind of r. It may
// be obj itself, or share with it.
func (r *resource) show(obj runtime.Object) (runtime.Object, error) {
	if r.custom != nil {
		return r.custom.shownOf(obj)
	}
	return convert(obj, r.stored.gvk, r.gvk)
}

// newObject makes an empty object that says what kind it is of.
func newObject(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj, err := kinds.New(kind)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj, nil
}

// managerOf names who writes: as they say, or by the program in User-Agent.
func managerOf(q *request, named string) string {
	if named != "" {
		return named
	}
	program, _, _ := strings.Cut(q.UserAgent(), "/")
	var name []byte
	for _, r := range program {
		if !unicode.IsPrint(r) {
			continue
		}
		if len(name)+utf8.RuneLen(r) > metavalidation.FieldManagerMaxLength {
			break
		}
		name = utf8.AppendRune(name, r)
	}
	return string(name)
}

// keepTimes gives next the times of old's managed fields if it differs from old
// in nothing else: a write that changes nothing is none.
func keepTimes(next, old runtime.Object) error {
	nextMeta, oldMeta, err := accessors(next, old)
	if err != nil {
		return err
	}
	fresh, kept := nextMeta.GetManagedFields(), oldMeta.GetManagedFields()
	if len(fresh) != len(kept) {
		return nil
	}
	for i := range fresh {
		a, b := fresh[i], kept[i]
		a.Time, b.Time = nil, nil
		if !equality.Semantic.DeepEqual(a, b) {
			return nil
		}
	}
	nextMeta.SetManagedFields(kept)
	if !equality.Semantic.DeepEqual(withKind(next, old.GetObjectKind().GroupVersionKind()), old) {
		nextMeta.SetManagedFields(fresh)
	}
	return nil
}

// versionConverter is what the trackers convert objects with.
type versionConverter struct{}

var _ runtime.ObjectConvertor = versionConverter{}

// ConvertToVersion returns in as the same kind of another version. in may be
// unstructured; the result never is, and always says what kind it is of.
func (versionConverter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	if from.Empty() {
		kinds, _, err := kinds.ObjectKinds(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
		from = kinds[0]
		in = withKind(in, from)
	}
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if gv, is := target.(schema.GroupVersion); is && !ok {
		to, ok = gv.WithKind(from.Kind), true // kept under another group
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s as %v", ErrCodec, from, target)
	}
	if _, known := kinds.AllKnownTypes()[to]; !known {
		return nil, runtime.NewNotRegisteredErrForKind("fakeserver", to)
	}
	if loose, ok := in.(runtime.Unstructured); ok {
		typed, err := newObject(from)
		if err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(loose.UnstructuredContent(), typed); err != nil {
			return nil, err
		}
		in = typed
	}
	return convert(in, from, to)
}

// looseConverter is versionConverter for custom objects: nothing is lost.
type looseConverter struct{ versionConverter }

// ConvertToVersion returns in as the same kind of another version.
func (looseConverter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if gv, is := target.(schema.GroupVersion); is && !ok {
		to, ok = gv.WithKind(from.Kind), true
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s as %v", ErrCodec, from, target)
	}
	return withKind(in, to), nil
}

// Convert is part of the interface, and not needed.
func (versionConverter) Convert(in, out, _ any) error {
	return fmt.Errorf("%w: %v into %v", ErrCodec, reflect.TypeOf(in), reflect.TypeOf(out))
}

// ConvertFieldLabel is part of the interface, and not needed.
func (versionConverter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
