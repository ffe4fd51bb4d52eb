package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scaleKind is the kind of what /scale shows, save for old versions.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// scaleOf shows an object of the stored kind as a Scale of autoscaling/v1. The
// replicas that a custom object lacks are noReplicas.
func (q *request) scaleOf(obj runtime.Object) (*autoscalingv1.Scale, error) {
	accessor, _, err := accessors(obj, obj)
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{}
	scale.Name, scale.Namespace = accessor.GetName(), accessor.GetNamespace()
	scale.UID, scale.ResourceVersion = accessor.GetUID(), accessor.GetResourceVersion()
	scale.CreationTimestamp = accessor.GetCreationTimestamp()
	if loose, ok := obj.(*unstructured.Unstructured); ok {
		return q.resource.custom.showScale(loose, scale)
	}
	value := reflect.ValueOf(obj).Elem()
	if r, ok := fieldOf[*int32](value, "Spec", "Replicas"); ok && r != nil {
		scale.Spec.Replicas = *r
	}
	scale.Status.Replicas, _ = fieldOf[int32](value, "Status", "Replicas")
	if s, ok := fieldOf[*metav1.LabelSelector](value, "Spec", "Selector"); ok && s != nil {
		scale.Status.Selector = metav1.FormatLabelSelector(s)
	}
	if s, ok := fieldOf[map[string]string](value, "Spec", "Selector"); ok {
		scale.Status.Selector = labels.SelectorFromSet(s).String()
	}
	return scale, nil
}

// field reads a nested field if it is there and of type T.
func fieldOf[T any](value reflect.Value, names ...string) (T, bool) {
	var none T
	for _, name := range names {
		if value = value.FieldByName(name); !value.IsValid() {
			return none, false
		}
	}
	typed, ok := value.Interface().(T)
	return typed, ok
}

// sendScale answers with the Scale of obj, in the version that the resource
// has: the versions before autoscaling/v1 have the selector as a map as well.
func (q *request) sendScale(out output, obj runtime.Object) error {
	scale, err := q.scaleOf(obj)
	if err != nil {
		return err
	}
	if scale.Spec.Replicas == noReplicas && q.resource.custom != nil {
		return apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", q.resource.custom.scale.SpecReplicasPath))
	}
	kind := *q.resource.scale
	if kind.Group == "autoscaling" {
		return sendObject(q.w, out, http.StatusOK, kind, scale)
	}
	old, err := kinds.New(kind)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	data, err := json.Marshal(map[string]any{
		"metadata": scale.ObjectMeta,
		"spec":     scale.Spec,
		"status":   map[string]any{"replicas": scale.Status.Replicas, "targetSelector": scale.Status.Selector},
	})
	if err == nil {
		err = json.Unmarshal(data, old)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	return sendObject(q.w, out, http.StatusOK, kind, old)
}

func (s *Server) getScale(q *request) error {
	out, err := negotiateFor(q.Request)
	if err != nil {
		return err
	}
	current, err := q.objects.get(q.Context(), q.namespace, q.name)
	if err != nil {
		return err
	}
	return q.sendScale(out, current.object)
}

// updateScale answers PUT of a Scale.
func (s *Server) updateScale(q *request) error {
	sub, err := s.submitted(q, *q.resource.scale, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if err := sub.checkName(q); err != nil {
		return err
	}
	obj, _, err := s.carryOut(q, proposal{dryRun: sub.dryRun, next: func(live runtime.Object) (runtime.Object, error) {
		if err := q.checkUID(sub.meta.GetUID(), live); err != nil {
			return nil, err
		}
		return q.scaled(live, func(before *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
			wanted, err := toScale(sub.object.DeepCopyObject())
			if err != nil {
				return nil, err
			}
			return wanted, trackFields(q.scaleTracking(), before, wanted, wanted, sub.manager)
		})
	}})
	if err != nil {
		return err
	}
	return q.sendScale(sub.answer.out, obj)
}

// patchScale answers PATCH of a Scale, which is one of autoscaling/v1 whatever
// version is shown.
func (s *Server) patchScale(q *request) error {
	out, p, err := s.readPatch(q, q.scaleTracking())
	if err != nil {
		return err
	}
	defer func() { p.warn(q.w) }()
	obj, _, err := s.carryOut(q, proposal{dryRun: p.dryRun, next: func(live runtime.Object) (runtime.Object, error) {
		p.problems = nil
		return q.scaled(live, func(before *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
			return p.scale(q, before)
		})
	}})
	if err != nil {
		return err
	}
	p.warn(q.w)
	return q.sendScale(out, obj)
}

// scale returns a new Scale: before with the patch applied, its fields tracked.
func (p *patch) scale(q *request, before *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	change := p.patched
	if p.mediaType == types.ApplyYAMLPatchType {
		change = p.apply
	}
	obj, err := change(before)
	if err != nil {
		return nil, err
	}
	wanted, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, fmt.Errorf("%w: %T is no Scale", ErrCodec, obj)
	}
	sub := submission{object: wanted, meta: wanted}
	if err := sub.checkName(q); err != nil || p.mediaType == types.ApplyYAMLPatchType {
		return wanted, err
	}
	return wanted, trackFields(p.of, before, wanted, wanted, p.manager)
}

func (q *request) scaleTracking() tracking {
	return tracking{kind: scaleKind, subresource: "scale"}
}

// toScale reads a Scale of any version: what it has in common with the others.
func toScale(obj runtime.Object) (*autoscalingv1.Scale, error) {
	if scale, ok := obj.(*autoscalingv1.Scale); ok {
		scale.SetGroupVersionKind(scaleKind)
		return scale, nil
	}
	replicas, ok := fieldOf[int32](reflect.ValueOf(obj).Elem(), "Spec", "Replicas")
	if !ok {
		return nil, apierrors.NewBadRequest("the scale has no replicas")
	}
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	scale.SetGroupVersionKind(scaleKind)
	copyField(scale, obj, "ObjectMeta")
	return scale, nil
}

// scaled returns a copy of live, which is of the stored kind, with the replicas
// that change makes of those it has, and with their managers. Everything else
// that change does is forgotten.
func (q *request) scaled(live runtime.Object, change func(*autoscalingv1.Scale) (*autoscalingv1.Scale, error)) (runtime.Object, error) {
	before, err := q.scaleOf(live)
	if err != nil {
		return nil, err
	}
	before.SetGroupVersionKind(scaleKind)
	next := live.DeepCopyObject()
	accessor, _, err := accessors(next, live)
	if err != nil {
		return nil, err
	}
	handler := managedfields.NewScaleHandler(accessor.GetManagedFields(), q.resource.gvk.GroupVersion(),
		q.replicaPaths(accessor.GetManagedFields()))
	if before.ManagedFields, err = handler.ToSubresource(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	wanted, err := change(before)
	if err != nil {
		return nil, err
	}
	if wanted.Spec.Replicas < 0 && q.resource.custom == nil {
		return nil, apierrors.NewInvalid(q.resource.scale.GroupKind(), q.name, field.ErrorList{field.Invalid(
			field.NewPath("spec", "replicas"), wanted.Spec.Replicas, "must be greater than or equal to 0")})
	}
	entries, err := handler.ToParent(wanted.ManagedFields)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCodec, err)
	}
	accessor.SetManagedFields(entries)
	if wanted.ResourceVersion != "" || q.resource.custom == nil {
		accessor.SetResourceVersion(wanted.ResourceVersion)
	}
	accessor.SetUID(wanted.UID)
	if loose, ok := next.(*unstructured.Unstructured); ok {
		return next, q.resource.custom.setReplicas(loose, wanted.Spec.Replicas)
	}
	return next, setReplicas(next, wanted.Spec.Replicas)
}

func setReplicas(obj runtime.Object, replicas int32) error {
	target := reflect.ValueOf(obj).Elem().FieldByName("Spec").FieldByName("Replicas")
	if !target.IsValid() || target.Type() != reflect.TypeFor[*int32]() {
		return fmt.Errorf("%w: %T has no replicas", ErrCodec, obj)
	}
	target.Set(reflect.ValueOf(&replicas))
	return nil
}

// replicaPaths say where the replicas are in every version that somebody
// manages fields of: in the same place in all.
func (q *request) replicaPaths(entries []metav1.ManagedFieldsEntry) managedfields.ResourcePathMappings {
	path := fieldpath.MakePathOrDie("spec", "replicas")
	if v := q.resource.custom; v != nil {
		return v.of.replicaPaths()
	}
	paths := managedfields.ResourcePathMappings{q.resource.gvk.GroupVersion().String(): path}
	for _, entry := range entries {
		paths[entry.APIVersion] = path
	}
	return paths
}
