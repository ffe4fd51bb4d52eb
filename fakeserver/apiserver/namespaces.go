package apiserver

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// specFinalizers are those that namespaces have beside the usual ones.
func specFinalizers(obj runtime.Object) []corev1.FinalizerName {
	if ns, ok := obj.(*corev1.Namespace); ok {
		return ns.Spec.Finalizers
	}
	return nil
}

// admitCreation lets objects be created only in namespaces that exist and stay.
func (s *Server) admitCreation(q *request, name string) error {
	if v := q.resource.custom; v != nil {
		if err := v.of.admit(name); err != nil {
			return err
		}
	}
	if !q.resource.namespaced || s.options.AnyNamespace {
		return nil
	}
	found, err := s.namespaces().get(q.Context(), "", q.namespace)
	if err != nil {
		return err
	}
	ns, ok := found.object.(*corev1.Namespace)
	if !ok || ns.DeletionTimestamp == nil && ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	refusal := apierrors.NewForbidden(q.resource.gvr.GroupResource(), name,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", q.namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", q.namespace),
		Field:   "metadata.namespace",
	})
	return refusal
}
