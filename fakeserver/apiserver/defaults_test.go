package apiserver

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestWhatMayChangeBehindItsNameIsPulledEachTime(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"app": corev1.PullAlways, "app:latest": corev1.PullAlways, "host:5000/app": corev1.PullAlways,
		"app:1": corev1.PullIfNotPresent, "host:5000/app:1": corev1.PullIfNotPresent,
		"app@sha256:0": corev1.PullIfNotPresent, "app:1@sha256:0": corev1.PullIfNotPresent,
	} {
		if got := pullPolicyFor(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}

func TestDefaultsAreTheSameWhenSetAgain(t *testing.T) {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Ports: []corev1.ContainerPort{{ContainerPort: 1}}}}}
	template := corev1.PodTemplateSpec{Spec: pod}
	for _, obj := range []runtime.Object{
		&corev1.Pod{Spec: pod},
		&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}},
		&corev1.Secret{StringData: map[string]string{"k": "v"}},
		&corev1.Namespace{},
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}},
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}},
		&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: template, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{}}}},
		&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: template}},
		&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template}},
		&batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}}},
		&batchv1.Job{Spec: batchv1.JobSpec{BackoffLimitPerIndex: new(int32), PodFailurePolicy: &batchv1.PodFailurePolicy{}}},
		&batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
		&rbacv1.RoleBinding{Subjects: []rbacv1.Subject{{Kind: "User"}, {Kind: "ServiceAccount"}}},
	} {
		first := obj.DeepCopyObject()
		setDefaults(first)
		second := first.DeepCopyObject()
		setDefaults(second)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("%T: %+v, then %+v", obj, first, second)
		}
		if _, isNamespace := obj.(*corev1.Namespace); !isNamespace && reflect.DeepEqual(first, obj) {
			t.Errorf("%T has no defaults", obj)
		}
	}
}

func TestAnEmptyPodStaysEmpty(t *testing.T) {
	spec := corev1.PodSpec{}
	if podDefaults(&spec); !reflect.DeepEqual(spec, corev1.PodSpec{}) {
		t.Errorf("%+v", spec)
	}
}

func TestTheQualityOfServiceFollowsTheResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{"cpu": apiresource.MustParse(cpu), "memory": apiresource.MustParse(memory)}
	}
	for _, c := range []struct {
		resources corev1.ResourceRequirements
		want      corev1.PodQOSClass
	}{
		{corev1.ResourceRequirements{}, corev1.PodQOSBestEffort},
		{corev1.ResourceRequirements{Requests: list("1", "1Gi")}, corev1.PodQOSBurstable},
		{corev1.ResourceRequirements{Limits: list("1", "1Gi")}, corev1.PodQOSGuaranteed},
		{corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")}, corev1.PodQOSGuaranteed},
		{corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("2", "1Gi")}, corev1.PodQOSBurstable},
	} {
		spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: c.resources}}}
		if got := qosClassOf(spec); got != c.want {
			t.Errorf("%+v: %s, want %s", c.resources, got, c.want)
		}
	}
}

func TestAJobFindsItsPodsByItsUID(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u"}}
	selectJob(job)
	want := map[string]string{batchv1.ControllerUidLabel: "u", batchv1.JobNameLabel: "j", "controller-uid": "u", "job-name": "j"}
	if !reflect.DeepEqual(job.Labels, want) || !reflect.DeepEqual(job.Spec.Template.Labels, want) ||
		!reflect.DeepEqual(job.Spec.Selector.MatchLabels, map[string]string{batchv1.ControllerUidLabel: "u"}) {
		t.Errorf("got %+v", job)
	}
	chosen := &batchv1.Job{Spec: batchv1.JobSpec{ManualSelector: new(bool)}}
	*chosen.Spec.ManualSelector = true
	if selectJob(chosen); chosen.Spec.Selector != nil || chosen.Labels != nil {
		t.Errorf("one that says how: %+v", chosen)
	}
}

func TestChangesOfADaemonSetsTemplateAreCounted(t *testing.T) {
	old := &appsv1.DaemonSet{}
	setDefaults(old)
	same, other := old.DeepCopy(), old.DeepCopy()
	other.Spec.Template.Labels = map[string]string{"a": "b"}
	other.Annotations = nil
	for want, next := range map[string]*appsv1.DaemonSet{"1": same, "2": other} {
		if countTemplate(next, old); next.Annotations[appsv1.DeprecatedTemplateGeneration] != want {
			t.Errorf("got %v, want %s", next.Annotations, want)
		}
	}
}
