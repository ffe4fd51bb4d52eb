package apiserver

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func jobDefaults(o *batchv1.Job) {
	spec := &o.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		setDefault(&spec.Completions, 1)
	}
	setDefault(&spec.Parallelism, 1)
	retries := int32(6)
	if spec.BackoffLimitPerIndex != nil {
		retries = math.MaxInt32
	}
	setDefault(&spec.BackoffLimit, retries)
	setDefault(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setDefault(&spec.Suspend, false)
	setDefault(&spec.ManualSelector, false)
	replaced := batchv1.TerminatingOrFailed
	if spec.PodFailurePolicy != nil {
		replaced = batchv1.Failed
	}
	setDefault(&spec.PodReplacementPolicy, replaced)
	podDefaults(&spec.Template.Spec)
	if len(o.Labels) == 0 && len(spec.Template.Labels) > 0 {
		o.Labels = maps.Clone(spec.Template.Labels)
	}
}

// selectJob lets a new Job find its pods by its uid, unless it says how.
func selectJob(obj runtime.Object) {
	o, ok := obj.(*batchv1.Job)
	if !ok || isTrue(o.Spec.ManualSelector) {
		return
	}
	template := &o.Spec.Template
	own := map[string]string{
		batchv1.ControllerUidLabel: string(o.UID), batchv1.JobNameLabel: o.Name, "controller-uid": string(o.UID), "job-name": o.Name,
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	maps.Copy(template.Labels, own)
	if o.Labels == nil {
		o.Labels = maps.Clone(template.Labels)
	}
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: string(o.UID)}}
}

func cronJobDefaults(spec *batchv1.CronJobSpec) {
	setText(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	setDefault(&spec.Suspend, false)
	setDefault(&spec.SuccessfulJobsHistoryLimit, 3)
	setDefault(&spec.FailedJobsHistoryLimit, 1)
	podDefaults(&spec.JobTemplate.Spec.Template.Spec)
}

// validateJob checks a Job, or with nil for old a new one.
func validateJob(next, old *batchv1.Job) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateTemplate(next.Spec.Selector, &next.Spec.Template)
	errs = append(errs, validateJobTemplate(&next.Spec.Template, path)...)
	if old == nil {
		return errs
	}
	if deref(next.Spec.CompletionMode) != batchv1.IndexedCompletion {
		errs = append(errs, validation.ValidateImmutableField(next.Spec.Completions, old.Spec.Completions, path.Child("completions"))...)
	}
	errs = append(errs, validation.ValidateImmutableField(next.Spec.Selector, old.Spec.Selector, path.Child("selector"))...)
	if !isTrue(old.Spec.Suspend) { // else some of it may still be changed
		errs = append(errs, validation.ValidateImmutableField(next.Spec.Template, old.Spec.Template, path.Child("template"))...)
	}
	return errs
}

// validateJobTemplate: pods that are always started again never complete.
func validateJobTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("template", "spec", "restartPolicy"), `valid values: "OnFailure", "Never"`)}
}

func validateCronJob(spec *batchv1.CronJobSpec) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("spec")
	if parts := strings.Fields(spec.Schedule); len(parts) > 0 && len(parts) != 5 && !strings.HasPrefix(spec.Schedule, "@") {
		errs = append(errs, field.Invalid(path.Child("schedule"), spec.Schedule,
			fmt.Sprintf("expected exactly 5 fields, found %d: %v", len(parts), parts)))
	}
	return append(errs, validateJobTemplate(&spec.JobTemplate.Spec.Template, path.Child("jobTemplate", "spec"))...)
}

// countTemplate notes how often the template of a DaemonSet was changed.
func countTemplate(next, old runtime.Object) {
	n, ok := next.(*appsv1.DaemonSet)
	o, ok2 := old.(*appsv1.DaemonSet)
	if !ok || !ok2 {
		return
	}
	count, err := strconv.ParseInt(o.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		count = 1
	}
	if !equality.Semantic.DeepEqual(n.Spec.Template, o.Spec.Template) {
		count++
	}
	setTemplateCount(n, count)
}

func setTemplateCount(o *appsv1.DaemonSet, count int64) {
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	o.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(count, 10)
}

// typeClaims gives the templates of claims their kind, which protobuf loses.
func typeClaims(claims []corev1.PersistentVolumeClaim) {
	for i := range claims {
		claims[i].APIVersion, claims[i].Kind = "v1", "PersistentVolumeClaim"
	}
}
