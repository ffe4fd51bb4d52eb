package apiserver

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var podPrinter = func() *printer {
	p := named(podCells,
		text("Ready", "Containers that are ready, of all."), text("Status", "What the pod does, in a word."),
		text("Restarts", "Restarts of its containers, and when the last one was."),
		wide(text("IP", "Address of the pod.")), wide(text("Node", "Node that the pod runs on.")),
		wide(text("Nominated Node", "Node that makes room for the pod.")),
		wide(text("Readiness Gates", "Further conditions that are met, of all.")))
	p.conditions = podRowConditions
	return p
}()

// podRowConditions tell clients which rows they may leave out.
func podRowConditions(obj runtime.Object) []metav1.TableRowCondition {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	message := ""
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		message = "The pod has completed successfully."
	case corev1.PodFailed:
		message = "The pod failed."
	default:
		return nil
	}
	return []metav1.TableRowCondition{{
		Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(pod.Status.Phase), Message: message,
	}}
}

func podCells(pod *corev1.Pod) []any {
	s := summarise(pod)
	ip := noneCell
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, s.restartCell(), ip, orNone(pod.Spec.NodeName),
		orNone(pod.Status.NominatedNodeName), gateText(pod),
	}
}

// podSummary is what of a pod's containers is shown.
type podSummary struct {
	ready, total int
	restarts     int32
	lastRestart  time.Time
	reason       string
}

func (s podSummary) restartCell() any {
	if s.restarts == 0 || s.lastRestart.IsZero() {
		return strconv.Itoa(int(s.restarts))
	}
	return mixed{before: fmt.Sprintf("%d (", s.restarts), age: age{s.lastRestart}, after: " ago)"}
}

func (s *podSummary) count(c corev1.ContainerStatus) {
	s.restarts += c.RestartCount
	if ended := c.LastTerminationState.Terminated; ended != nil && ended.FinishedAt.After(s.lastRestart) {
		s.lastRestart = ended.FinishedAt.Time
	}
}

// sidecars are the init containers that go on running.
func sidecars(pod *corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			names[c.Name] = true
		}
	}
	return names
}

func summarise(pod *corev1.Pod) podSummary {
	stays := sidecars(pod)
	s := podSummary{total: len(pod.Spec.Containers) + len(stays), reason: string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s.reason = pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	if initialising := s.initContainers(pod, stays); !initialising || isInitialised(pod) {
		s.containers(pod)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == "NodeLost":
			s.reason = "Unknown"
		case pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded:
			s.reason = "Terminating"
		}
	}
	return s
}

func isInitialised(pod *corev1.Pod) bool { return hasTrue(pod, corev1.PodInitialized) }

func hasTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// initContainers reports whether one of them is still in the way.
func (s *podSummary) initContainers(pod *corev1.Pod, stays map[string]bool) bool {
	kept := podSummary{}
	for i, c := range pod.Status.InitContainerStatuses {
		s.count(c)
		if stays[c.Name] {
			kept.count(c)
			if c.Ready {
				s.ready++
			}
			if c.Started != nil && *c.Started {
				continue
			}
		}
		ended := c.State.Terminated
		if ended != nil && ended.ExitCode == 0 {
			continue
		}
		switch {
		case ended != nil:
			s.reason = "Init:" + endText(ended)
		case c.State.Waiting != nil && c.State.Waiting.Reason != "" && c.State.Waiting.Reason != "PodInitializing":
			s.reason = "Init:" + c.State.Waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return true
	}
	s.restarts, s.lastRestart = kept.restarts, kept.lastRestart // those of the rest are past
	return false
}

func endText(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason != "":
		return ended.Reason
	case ended.Signal != 0:
		return fmt.Sprintf("Signal:%d", ended.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", ended.ExitCode)
}

// containers takes the reason of the first container that has one.
func (s *podSummary) containers(pod *corev1.Pod) {
	running := false
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := pod.Status.ContainerStatuses[i]
		s.count(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = endText(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if hasTrue(pod, corev1.PodReady) {
			s.reason = "Running"
		}
	}
}

func gateText(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return noneCell
	}
	met := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if hasTrue(pod, gate.ConditionType) {
			met++
		}
	}
	return fmt.Sprintf("%d/%d", met, len(pod.Spec.ReadinessGates))
}
