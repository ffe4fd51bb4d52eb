package configset

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// StatusFor is what the status of set is to be after an attempt to carry out a
// plan, and whether that is something else than it has. children are as PlanFor takes
// them, as they are now. problem is what went wrong, or nil; one that is ErrNameTaken
// has a reason of its own. now is the time of a change of the condition.
func StatusFor(set *ConfigSet, children []*corev1.ConfigMap, problem error, now time.Time) (status ConfigSetStatus, changed bool) {
	set.Status.DeepCopyInto(&status)
	status.ObservedGeneration = set.Generation
	status.Selector = labels.Set{LabelSet: set.Name}.String()
	status.Replicas, status.ReadyReplicas = 0, 0
	wanted := set.Wanted()
	for _, child := range children {
		if child.DeletionTimestamp != nil || !owns(set.UID, child) {
			continue
		}
		status.Replicas++
		if ordinal, ok := ordinalOf(set, child); ok && ordinal < wanted {
			if _, differs := repaired(set, child, ordinal); !differs {
				status.ReadyReplicas++
			}
		}
	}
	condition := metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: set.Generation, LastTransitionTime: metav1.NewTime(now),
		Message: fmt.Sprintf("%d of %d ConfigMaps are as they should be", status.ReadyReplicas, wanted),
	}
	switch {
	case problem != nil:
		condition.Reason, condition.Message = ReasonFailed, problem.Error()
		if errors.Is(problem, ErrNameTaken) {
			condition.Reason = ReasonNameTaken
		}
	case int(status.ReadyReplicas) < wanted || status.Replicas > status.ReadyReplicas:
		condition.Reason = ReasonProgressing
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ReasonComplete
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	return status, !equality.Semantic.DeepEqual(status, set.Status)
}
