package apiserver

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	bindingsName = schema.GroupVersionResource{Version: "v1", Resource: "bindings"}
)

// bind answers POST of a Binding, which puts a pod on a node.
func (s *Server) bind(q *request) error {
	sub, err := s.submitted(q, corev1.SchemeGroupVersion.WithKind("Binding"), &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	binding, ok := sub.object.(*corev1.Binding)
	if !ok {
		return fmt.Errorf("%w: %T is no Binding", ErrCodec, sub.object)
	}
	if err := sub.settleNamespace(q); err != nil {
		return err
	}
	if q.name == "" {
		q.name = binding.Name // posted to the collection
	}
	if q.name != binding.Name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if err := validateBinding(binding).ToAggregate(); err != nil {
		return err // recorded: no Status of its own
	}
	_, err = q.objects.change(q.Context(), q.namespace, q.name, func(current record) (outcome, error) {
		next := current.object.DeepCopyObject()
		pod, ok := next.(*corev1.Pod)
		if !ok {
			return outcome{}, fmt.Errorf("%w: %T is no Pod", ErrCodec, next)
		}
		if err := assign(pod, binding); err != nil {
			return outcome{}, err
		}
		if sub.dryRun {
			return outcome{object: next}, errUnchanged
		}
		return outcome{object: next}, nil
	})
	if err != nil {
		return err
	}
	return q.sendDone(sub.answer.out)
}

// sendDone answers a request that created nothing that could be shown.
func (q *request) sendDone(out output) error {
	return sendObject(q.w, out, http.StatusCreated, statusKind, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Code:     http.StatusCreated,
	})
}

func validateBinding(b *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	if k := b.Target.Kind; k != "" && k != "Node" {
		errs = append(errs, field.NotSupported(field.NewPath("target", "kind"), k, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, field.Required(field.NewPath("target", "name"), ""))
	}
	return errs
}

// assign changes pod as binding says.
func assign(pod *corev1.Pod, binding *corev1.Binding) error {
	conflict := func(format string, args ...any) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, pod.Name, fmt.Errorf(format, args...))
	}
	switch {
	case binding.UID != "" && binding.UID != pod.UID:
		return conflict("the UID in the precondition (%s) does not match the UID in record (%s)", binding.UID, pod.UID)
	case pod.DeletionTimestamp != nil:
		return conflict("pod %s is being deleted, cannot be assigned to a host", pod.Name)
	case pod.Spec.NodeName != "":
		return conflict("pod %s is already assigned to node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return conflict("pod %s has non-empty .spec.schedulingGates", pod.Name)
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Annotations = merged(pod.Annotations, binding.Annotations)
	pod.Labels = merged(pod.Labels, binding.Labels)
	setPodCondition(pod, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now(),
	})
	return nil
}

func merged(into, from map[string]string) map[string]string {
	for key, value := range from {
		if into == nil {
			into = map[string]string{}
		}
		into[key] = value
	}
	return into
}

func setPodCondition(pod *corev1.Pod, c corev1.PodCondition) {
	for i, old := range pod.Status.Conditions {
		if old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			pod.Status.Conditions[i] = c
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, c)
}

// ofPods finds the handler of a subresource that only pods have, or nil.
func (s *Server) ofPods(q *request) map[string]verb {
	if q.resource.gvr != podResource {
		return nil
	}
	switch q.subresource {
	case "binding":
		return map[string]verb{http.MethodPost: {"create", s.bind}}
	case "eviction":
		return map[string]verb{http.MethodPost: {"create", s.evict}}
	case "ephemeralcontainers":
		return map[string]verb{
			http.MethodGet:   {"get", s.get},
			http.MethodPut:   {"update", s.update},
			http.MethodPatch: {"patch", s.patch},
		}
	}
	return nil
}

// keepButEphemeral returns old with the metadata and the ephemeral containers
// of sent.
func keepButEphemeral(sent, old runtime.Object) runtime.Object {
	next := old.DeepCopyObject()
	copyField(next, sent, "ObjectMeta")
	if pod, ok := next.(*corev1.Pod); ok {
		if wanted, ok := sent.(*corev1.Pod); ok {
			pod.Spec.EphemeralContainers = wanted.Spec.EphemeralContainers
		}
	}
	return next
}
