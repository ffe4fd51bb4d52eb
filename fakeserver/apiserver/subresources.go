package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subresource is what clients are told of one.
type subresource struct {
	name  string
	kind  schema.GroupVersionKind
	verbs metav1.Verbs
}

// moreSubresources are those beside status and scale, which the clientset shows.
var moreSubresources = map[schema.GroupVersionResource][]subresource{
	{Version: "v1", Resource: "namespaces"}: {
		{"finalize", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, metav1.Verbs{"update"}},
	},
	{Version: "v1", Resource: "pods"}: {
		{"binding", schema.GroupVersionKind{Version: "v1", Kind: "Binding"}, metav1.Verbs{"create"}},
		{"eviction", schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"}, metav1.Verbs{"create"}},
		{"exec", schema.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, metav1.Verbs{"create", "get"}},
		{"log", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, metav1.Verbs{"get"}},
	},
	{Version: "v1", Resource: "serviceaccounts"}: {
		{"token", schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}, metav1.Verbs{"create"}},
	},
}

// createdOnly are resources of which nothing is kept.
var createdOnly = map[schema.GroupVersion][]metav1.APIResource{
	{Version: "v1"}: {
		{Name: "bindings", SingularName: "binding", Namespaced: true, Kind: "Binding", Verbs: metav1.Verbs{"create"}},
	},
}

// sortedSubresources are all that a resource has, by name.
func (r *resource) sortedSubresources() []subresource {
	all := append([]subresource{}, moreSubresources[r.gvr]...)
	usual := metav1.Verbs{"get", "patch", "update"}
	if r.scale != nil {
		all = append(all, subresource{"scale", *r.scale, usual})
	}
	if r.hasStatus {
		all = append(all, subresource{"status", r.gvk, usual})
	}
	slices.SortFunc(all, func(a, b subresource) int { return strings.Compare(a.name, b.name) })
	return all
}

// podToReach finds the pod that a request wants to talk to.
func (s *Server) podToReach(q *request) (*corev1.Pod, error) {
	found, err := q.objects.get(q.Context(), q.namespace, q.name)
	if err != nil {
		return nil, err
	}
	pod, ok := found.object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%w: %T is no pod", ErrCodec, found.object)
	}
	return pod, nil
}

// errNoKubelet answers what only a kubelet could.
func (s *Server) errNoKubelet(q *request, pod *corev1.Pod) error {
	_, nodes := s.served.Load().find(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	if _, err := nodes.get(q.Context(), "", pod.Spec.NodeName); err != nil {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("node %s cannot be reached: there are no kubelets here", pod.Spec.NodeName))
}

// podLog answers as a server whose kubelets are away: a pod that was not
// scheduled has no log.
func (s *Server) podLog(q *request) error {
	pod, err := s.podToReach(q)
	switch {
	case err != nil:
		return err
	case pod.Spec.NodeName == "":
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return s.errNoKubelet(q, pod)
}

// podExec likewise: nothing runs in any pod.
func (s *Server) podExec(q *request) error {
	pod, err := s.podToReach(q)
	switch {
	case err != nil:
		return err
	case pod.Spec.NodeName == "":
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	return s.errNoKubelet(q, pod)
}
