package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// scaleOf shows an object of the stored kind as a Scale of autoscaling/v1.
func scaleOf(obj runtime.Object) (*autoscalingv1.Scale, error) {
	accessor, _, err := accessors(obj, obj)
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{}
	scale.Name, scale.Namespace = accessor.GetName(), accessor.GetNamespace()
	scale.UID, scale.ResourceVersion = accessor.GetUID(), accessor.GetResourceVersion()
	scale.CreationTimestamp = accessor.GetCreationTimestamp()
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
	scale, err := scaleOf(obj)
	if err != nil {
		return err
	}
	kind := *q.resource.scale
	if kind.Group == "autoscaling" {
		return sendObject(q.w, out, http.StatusOK, kind, scale)
	}
	old, err := scheme.Scheme.New(kind)
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

// updateScale sets spec.replicas of the object and nothing else.
func (s *Server) updateScale(q *request) error {
	sub, err := s.submitted(q, *q.resource.scale, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	if err := sub.checkName(q); err != nil {
		return err
	}
	replicas, ok := fieldOf[int32](reflect.ValueOf(sub.object).Elem(), "Spec", "Replicas")
	if !ok {
		return apierrors.NewBadRequest("the scale has no replicas")
	}
	if replicas < 0 {
		return apierrors.NewInvalid(q.resource.scale.GroupKind(), q.name, field.ErrorList{field.Invalid(
			field.NewPath("spec", "replicas"), replicas, "must be greater than or equal to 0")})
	}
	result, err := q.objects.change(q.Context(), q.namespace, q.name, func(current record) (outcome, error) {
		if err := q.checkVersion(sub.object, current); err != nil {
			return outcome{}, err
		}
		next := current.object.DeepCopyObject()
		target := reflect.ValueOf(next).Elem().FieldByName("Spec").FieldByName("Replicas")
		if !target.IsValid() || target.Type() != reflect.TypeFor[*int32]() {
			return outcome{}, fmt.Errorf("%w: %T has no replicas", ErrCodec, next)
		}
		target.Set(reflect.ValueOf(&replicas))
		return q.settle(next, current, sub.dryRun)
	})
	if err != nil {
		return err
	}
	return q.sendScale(sub.answer.out, result.object)
}
