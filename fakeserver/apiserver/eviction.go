package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

var budgetResource = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}

// evict answers POST of an Eviction: it deletes a pod if the budgets for
// disruptions allow it.
func (s *Server) evict(q *request) error {
	want, err := s.evictionKind(q)
	if err != nil {
		return err
	}
	sub, err := s.submitted(q, want, &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if sub.meta.GetName() != q.name {
		return apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	options := &metav1.DeleteOptions{}
	switch eviction := sub.object.(type) {
	case *policyv1.Eviction:
		options = orEmpty(eviction.DeleteOptions)
	case *policyv1beta1.Eviction:
		options = orEmpty(eviction.DeleteOptions)
	}
	if sub.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	current, err := q.objects.get(q.Context(), q.namespace, q.name)
	if err != nil {
		return err
	}
	pod, ok := current.object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%w: %T is no Pod", ErrCodec, current.object)
	}
	if err := checkPreconditions(q.resource.stored, pod, options.Preconditions); err != nil {
		return err
	}
	if err := s.takeFromBudget(q, pod, len(options.DryRun) > 0); err != nil {
		return err
	}
	if _, err := s.remove(q, q.namespace, q.name, options); err != nil {
		return err
	}
	return q.sendDone(sub.answer.out)
}

func orEmpty(options *metav1.DeleteOptions) *metav1.DeleteOptions {
	if options == nil {
		return &metav1.DeleteOptions{}
	}
	return options
}

// evictionKind says which version of Eviction the body has. It leaves the body
// to be read again.
func (s *Server) evictionKind(q *request) (schema.GroupVersionKind, error) {
	kind := policyv1.SchemeGroupVersion.WithKind("Eviction")
	data, err := readBody(q.Request, s.options.BodyLimit)
	if err != nil {
		return kind, err
	}
	q.Body = io.NopCloser(bytes.NewReader(data))
	var said metav1.TypeMeta
	if json.Unmarshal(data, &said) == nil && said.APIVersion == policyv1beta1.SchemeGroupVersion.String() {
		kind = policyv1beta1.SchemeGroupVersion.WithKind("Eviction")
	}
	return kind, nil
}

// takeFromBudget counts the disruption of pod in the budget that selects it, or
// refuses it. A pod that serves nobody disrupts nothing.
func (s *Server) takeFromBudget(q *request, pod *corev1.Pod, dryRun bool) error {
	if p := pod.Status.Phase; pod.DeletionTimestamp != nil || p == corev1.PodSucceeded || p == corev1.PodFailed || p == corev1.PodPending {
		return nil
	}
	budgets, all := s.served.Load().find(budgetResource)
	if budgets == nil {
		return nil
	}
	names, err := s.budgetsOf(q, all, pod)
	if err != nil || len(names) == 0 {
		return err
	}
	if len(names) > 1 {
		//lint:ignore ST1005 the text of a real server
		several := errors.New("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		return apierrors.NewInternalError(several)
	}
	_, err = all.change(q.Context(), q.namespace, names[0], func(current record) (outcome, error) {
		next, ok := current.object.DeepCopyObject().(*policyv1.PodDisruptionBudget)
		if !ok {
			return outcome{}, fmt.Errorf("%w: %T is no PodDisruptionBudget", ErrCodec, current.object)
		}
		if free, err := disrupt(next, pod); err != nil || free || dryRun {
			return outcome{object: next}, orUnchanged(err)
		}
		err := trackFields(tracking{kind: budgets.stored.gvk, subresource: "status"}, current.object, shallowCopy(next), next, "kube-apiserver")
		return outcome{object: next}, err
	})
	return err
}

func orUnchanged(err error) error {
	if err == nil {
		return errUnchanged
	}
	return err
}

// budgetsOf names the budgets that select pod.
func (s *Server) budgetsOf(q *request, budgets *collection, pod *corev1.Pod) ([]string, error) {
	reader, err := budgets.reader(q.Context())
	if err != nil {
		return nil, err
	}
	found, err := reader.List(q.Context(), cacher.ListOptions{Predicate: cacher.Predicate{Scope: cacher.Scope{Namespace: pod.Namespace}}})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, item := range found.Items {
		budget, ok := item.Object.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, budget.Name)
		}
	}
	return names, nil
}

// disrupt takes one disruption from budget, or says why not. A pod that is not
// ready is free if enough others are, or if the budget says so.
func disrupt(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) (free bool, err error) {
	status := &budget.Status
	if !podReady(pod) {
		always := budget.Spec.UnhealthyPodEvictionPolicy != nil && *budget.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || status.DesiredHealthy > 0 && status.CurrentHealthy >= status.DesiredHealthy {
			return true, nil
		}
	}
	switch {
	case status.ObservedGeneration < budget.Generation:
		return false, errBudget(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget.Name))
	case status.DisruptionsAllowed <= 0:
		return false, errBudget(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, status.DesiredHealthy, status.CurrentHealthy))
	}
	status.DisruptionsAllowed--
	if status.DisruptedPods == nil {
		status.DisruptedPods = map[string]metav1.Time{}
	}
	status.DisruptedPods[pod.Name] = now()
	condition := metav1.Condition{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: policyv1.SufficientPodsReason,
		ObservedGeneration: status.ObservedGeneration,
	}
	if status.DisruptionsAllowed == 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, policyv1.InsufficientPodsReason
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	return false, nil
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func errBudget(retryAfter int, text string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: text,
	})
	return err
}
