package apiserver

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

var (
	containersColumn = wide(text("Containers", "Names of the containers."))
	imagesColumn     = wide(text("Images", "Images of the containers."))
	selectorColumn   = wide(text("Selector", "Selector of the pods."))
	desiredColumn    = number("Desired", "Number of pods that there should be.")
	currentColumn    = number("Current", "Number of pods that there are.")
	readyColumn      = number("Ready", "Number of pods that are ready.")
)

// workloadPrinters print what makes pods, and what scales that.
var workloadPrinters = map[schema.GroupResource]*printer{
	{Resource: "pods"}: podPrinter,
	{Resource: "podtemplates"}: printing(func(o *corev1.PodTemplate) []any {
		names, images := containerTexts(o.Template.Spec.Containers)
		return []any{o.Name, names, images, mapText(o.Template.Labels)}
	}, nameColumn, text("Containers", "Names of the containers."), text("Images", "Images of the containers."),
		text("Pod Labels", "Labels of the pods.")),
	{Resource: "replicationcontrollers"}: named(func(o *corev1.ReplicationController) []any {
		template := corev1.PodTemplateSpec{}
		if o.Spec.Template != nil {
			template = *o.Spec.Template
		}
		names, images := containerTexts(template.Spec.Containers)
		return []any{
			int64(deref(o.Spec.Replicas)), int64(o.Status.Replicas), int64(o.Status.ReadyReplicas), names, images, mapText(o.Spec.Selector),
		}
	}, desiredColumn, currentColumn, readyColumn, containersColumn, imagesColumn, selectorColumn),
	{Group: "apps", Resource: "replicasets"}: named(func(o *appsv1.ReplicaSet) []any {
		names, images := containerTexts(o.Spec.Template.Spec.Containers)
		return []any{
			int64(deref(o.Spec.Replicas)), int64(o.Status.Replicas), int64(o.Status.ReadyReplicas),
			names, images, selectorText(o.Spec.Selector),
		}
	}, desiredColumn, currentColumn, readyColumn, containersColumn, imagesColumn, selectorColumn),
	{Group: "apps", Resource: "deployments"}: named(func(o *appsv1.Deployment) []any {
		names, images := containerTexts(o.Spec.Template.Spec.Containers)
		return []any{
			fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, deref(o.Spec.Replicas)), int64(o.Status.UpdatedReplicas),
			int64(o.Status.AvailableReplicas), names, images, selectorText(o.Spec.Selector),
		}
	}, text("Ready", "Pods that are ready, of those that there should be."),
		text("Up-to-date", "Pods made from the current template."), text("Available", "Pods that were ready long enough."),
		containersColumn, imagesColumn, selectorColumn),
	{Group: "apps", Resource: "statefulsets"}: named(func(o *appsv1.StatefulSet) []any {
		names, images := containerTexts(o.Spec.Template.Spec.Containers)
		return []any{fmt.Sprintf("%d/%d", o.Status.ReadyReplicas, deref(o.Spec.Replicas)), names, images}
	}, text("Ready", "Pods that are ready, of those that there should be."), containersColumn, imagesColumn),
	{Group: "apps", Resource: "daemonsets"}: named(func(o *appsv1.DaemonSet) []any {
		names, images := containerTexts(o.Spec.Template.Spec.Containers)
		s := o.Status
		return []any{
			int64(s.DesiredNumberScheduled), int64(s.CurrentNumberScheduled), int64(s.NumberReady), int64(s.UpdatedNumberScheduled),
			int64(s.NumberAvailable), mapText(o.Spec.Template.Spec.NodeSelector), names, images, selectorText(o.Spec.Selector),
		}
	}, desiredColumn, currentColumn, readyColumn, number("Up-to-date", "Pods made from the current template."),
		number("Available", "Pods that were ready long enough."), text("Node Selector", "Nodes that get a pod."),
		containersColumn, imagesColumn, selectorColumn),
	{Group: "apps", Resource: "controllerrevisions"}: named(func(o *appsv1.ControllerRevision) []any {
		controller := noneCell
		if ref := metav1.GetControllerOf(o); ref != nil {
			gv, _ := schema.ParseGroupVersion(ref.APIVersion)
			controller = formatOwner(ref.Kind, gv.Group) + "/" + ref.Name
		}
		return []any{controller, o.Revision}
	}, text("Controller", "Object that the revision belongs to."), number("Revision", "Number of the revision.")),
	{Group: "batch", Resource: "jobs"}:                           jobPrinter,
	{Group: "batch", Resource: "cronjobs"}:                       cronJobPrinter,
	{Group: "autoscaling", Resource: "horizontalpodautoscalers"}: scalerPrinter,
}

// formatOwner names a kind as kubectl takes it.
func formatOwner(kind, group string) string {
	name := strings.ToLower(kind)
	if group != "" {
		name += "." + group
	}
	return name
}

var jobPrinter = named(func(o *batchv1.Job) []any {
	names, images := containerTexts(o.Spec.Template.Spec.Containers)
	return []any{jobStatus(o), jobCompletions(o), jobDuration(o), names, images, selectorText(o.Spec.Selector)}
}, text("Status", "State that the job is in."), text("Completions", "Pods that succeeded, of those that have to."),
	text("Duration", "Time from start to end, or until now."), containersColumn, imagesColumn, selectorColumn)

func jobStatus(o *batchv1.Job) string {
	is := func(t batchv1.JobConditionType) bool {
		for _, c := range o.Status.Conditions {
			if c.Type == t && c.Status == corev1.ConditionTrue {
				return true
			}
		}
		return false
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case o.DeletionTimestamp != nil:
		return "Terminating"
	case is(batchv1.JobSuspended):
		return "Suspended"
	case is(batchv1.JobFailureTarget):
		return "FailureTarget"
	case is(batchv1.JobSuccessCriteriaMet):
		return "SuccessCriteriaMet"
	}
	return "Running"
}

func jobCompletions(o *batchv1.Job) string {
	if o.Spec.Completions != nil {
		return fmt.Sprintf("%d/%d", o.Status.Succeeded, *o.Spec.Completions)
	}
	if parallelism := deref(o.Spec.Parallelism); parallelism > 1 {
		return fmt.Sprintf("%d/1 of %d", o.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", o.Status.Succeeded)
}

func jobDuration(o *batchv1.Job) any {
	switch {
	case o.Status.StartTime == nil:
		return ""
	case o.Status.CompletionTime == nil:
		return age{o.Status.StartTime.Time}
	}
	return duration.HumanDuration(o.Status.CompletionTime.Sub(o.Status.StartTime.Time))
}

var cronJobPrinter = named(func(o *batchv1.CronJob) []any {
	names, images := containerTexts(o.Spec.JobTemplate.Spec.Template.Spec.Containers)
	suspended := unsetCell
	if o.Spec.Suspend != nil {
		suspended = capital(*o.Spec.Suspend)
	}
	var last any = noneCell
	if o.Status.LastScheduleTime != nil {
		last = ageOf(*o.Status.LastScheduleTime)
	}
	return []any{
		o.Spec.Schedule, derefOr(o.Spec.TimeZone, noneCell), suspended, int64(len(o.Status.Active)), last,
		names, images, selectorText(o.Spec.JobTemplate.Spec.Selector),
	}
}, text("Schedule", "When jobs are made."), text("Timezone", "Zone of the schedule."),
	truth("Suspend", "Whether no more jobs are made."), number("Active", "Number of jobs that run."),
	text("Last Schedule", "Time since the last job was made."), containersColumn, imagesColumn, selectorColumn)

// capital is a truth as clients have always been shown it.
func capital(is bool) string {
	if is {
		return "True"
	}
	return "False"
}

var scalerPrinter = named(func(o *autoscalingv2.HorizontalPodAutoscaler) []any {
	target := o.Spec.ScaleTargetRef
	return []any{
		target.Kind + "/" + target.Name, scalerTargets(o), derefOr(o.Spec.MinReplicas, unsetCell),
		int64(o.Spec.MaxReplicas), int64(o.Status.CurrentReplicas),
	}
}, text("Reference", "What is scaled."), text("Targets", "Measured and wanted values."),
	text("MinPods", "Least number of pods."), text("MaxPods", "Largest number of pods."),
	text("Replicas", "Number of pods that there are."))

// scalerTargets shows two metrics and counts the rest.
func scalerTargets(o *autoscalingv2.HorizontalPodAutoscaler) string {
	var texts []string
	for i, spec := range o.Spec.Metrics {
		var current *autoscalingv2.MetricStatus
		if i < len(o.Status.CurrentMetrics) {
			current = &o.Status.CurrentMetrics[i]
		}
		texts = append(texts, metricText(spec, current))
	}
	const most = 2
	if len(texts) > most {
		return fmt.Sprintf("%s, %s + %d more...", texts[0], texts[1], len(texts)-most)
	}
	return joinOrNone(texts, ", ")
}

func metricText(spec autoscalingv2.MetricSpec, current *autoscalingv2.MetricStatus) string {
	var target autoscalingv2.MetricTarget
	var value *autoscalingv2.MetricValueStatus
	label := ""
	if current == nil {
		current = &autoscalingv2.MetricStatus{}
	}
	switch {
	case spec.Resource != nil:
		target, label = spec.Resource.Target, string(spec.Resource.Name)+": "
		if current.Resource != nil {
			value = &current.Resource.Current
		}
	case spec.ContainerResource != nil:
		target, label = spec.ContainerResource.Target, string(spec.ContainerResource.Name)+": "
		if current.ContainerResource != nil {
			value = &current.ContainerResource.Current
		}
	case spec.Pods != nil:
		target = spec.Pods.Target
		if current.Pods != nil {
			value = &current.Pods.Current
		}
	case spec.Object != nil:
		target = spec.Object.Target
		if current.Object != nil {
			value = &current.Object.Current
		}
	case spec.External != nil:
		target = spec.External.Target
		if current.External != nil {
			value = &current.External.Current
		}
	}
	return label + targetText(target, value)
}

func targetText(target autoscalingv2.MetricTarget, value *autoscalingv2.MetricValueStatus) string {
	if value == nil {
		value = &autoscalingv2.MetricValueStatus{}
	}
	switch {
	case target.AverageValue != nil:
		measured := unknownCell
		if value.AverageValue != nil {
			measured = value.AverageValue.String()
		}
		return measured + "/" + target.AverageValue.String() + " (avg)"
	case target.AverageUtilization != nil:
		measured := unknownCell
		if value.AverageUtilization != nil {
			measured = fmt.Sprintf("%d%%", *value.AverageUtilization)
		}
		return fmt.Sprintf("%s/%d%%", measured, *target.AverageUtilization)
	case target.Value != nil:
		measured := unknownCell
		if value.Value != nil {
			measured = value.Value.String()
		}
		return measured + "/" + target.Value.String()
	}
	return unknownCell + "/<auto>"
}
