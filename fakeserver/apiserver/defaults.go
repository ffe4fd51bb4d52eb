package apiserver

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

// setDefaults fills in what a real server does when it reads an object, for the
// kinds that tests use most. obj is of the stored kind. It must give the same
// when it is done again.
func setDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		crd.SetDefaults(o)
	case *corev1.Secret:
		foldStringData(o)
	case *corev1.Namespace:
		labelNamespace(o)
	case *corev1.Service:
		serviceDefaults(&o.Spec)
	case *corev1.Pod:
		podDefaults(&o.Spec)
		setDefault(&o.Spec.EnableServiceLinks, true)
	case *appsv1.Deployment:
		setDefault(&o.Spec.Replicas, 1)
		setDefault(&o.Spec.RevisionHistoryLimit, 10)
		setDefault(&o.Spec.ProgressDeadlineSeconds, 600)
		rollingDefaults(&o.Spec.Strategy)
		podDefaults(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		statefulDefaults(&o.Spec)
		podDefaults(&o.Spec.Template.Spec)
	case *appsv1.DaemonSet:
		setDefault(&o.Spec.RevisionHistoryLimit, 10)
		daemonDefaults(o)
		if o.Annotations[appsv1.DeprecatedTemplateGeneration] == "" {
			setTemplateCount(o, 1)
		}
		podDefaults(&o.Spec.Template.Spec)
	case *batchv1.Job:
		jobDefaults(o)
	case *batchv1.CronJob:
		cronJobDefaults(&o.Spec)
	case *appsv1.ReplicaSet:
		setDefault(&o.Spec.Replicas, 1)
		podDefaults(&o.Spec.Template.Spec)
	case *rbacv1.RoleBinding:
		refDefaults(&o.RoleRef, o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		refDefaults(&o.RoleRef, o.Subjects)
	}
}

// setDefault points at value if nothing else was chosen.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setText[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

func serviceDefaults(spec *corev1.ServiceSpec) {
	setText(&spec.Type, corev1.ServiceTypeClusterIP)
	setText(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	if spec.Type != corev1.ServiceTypeExternalName {
		setDefault(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	for i := range spec.Ports {
		port := &spec.Ports[i]
		setText(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == (intstr.IntOrString{}) {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
}

// familyDefaults gives a headless service what else its addresses are. Others
// would need addresses; nobody gives them any.
func familyDefaults(obj runtime.Object) {
	service, ok := obj.(*corev1.Service)
	if !ok || service.Spec.ClusterIP != corev1.ClusterIPNone {
		return
	}
	spec := &service.Spec
	spec.ClusterIPs = []string{corev1.ClusterIPNone}
	setDefault(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
}

// podDefaults are those of pods and of templates for pods. A pod without
// containers, which is only made by tests, is left as it is.
func podDefaults(spec *corev1.PodSpec) {
	if len(spec.Containers) == 0 {
		return
	}
	setText(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setText(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setText(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setDefault(&spec.SecurityContext, corev1.PodSecurityContext{})
	setDefault(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	for i := range spec.InitContainers {
		containerDefaults(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		containerDefaults(&spec.Containers[i])
	}
}

func containerDefaults(c *corev1.Container) {
	setText(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setText(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	setText(&c.ImagePullPolicy, pullPolicyFor(c.Image))
	for i := range c.Ports {
		setText(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// pullPolicyFor: what may change behind its name is pulled each time.
func pullPolicyFor(image string) corev1.PullPolicy {
	name, _, hasDigest := strings.Cut(image, "@")
	last := name[strings.LastIndex(name, "/")+1:]
	_, tag, hasTag := strings.Cut(last, ":")
	if tag == "latest" || !hasTag && !hasDigest {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func rollingDefaults(strategy *appsv1.DeploymentStrategy) {
	setText(&strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	setDefault(&strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	setDefault(&strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
	setDefault(&strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
}

func daemonDefaults(o *appsv1.DaemonSet) {
	strategy := &o.Spec.UpdateStrategy
	setText(&strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		setDefault(&strategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		setDefault(&strategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setDefault(&strategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
}

func statefulDefaults(spec *appsv1.StatefulSetSpec) {
	setDefault(&spec.Replicas, 1)
	setDefault(&spec.RevisionHistoryLimit, 10)
	setText(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	setDefault(&spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	setText(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setText(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setText(&spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		setDefault(&spec.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
		setDefault(&spec.UpdateStrategy.RollingUpdate.Partition, 0)
		setDefault(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	typeClaims(spec.VolumeClaimTemplates)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		setDefault(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		setText(&claim.Status.Phase, corev1.ClaimPending)
	}
}

func refDefaults(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setText(&ref.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if k := subjects[i].Kind; k == rbacv1.UserKind || k == rbacv1.GroupKind {
			setText(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

// qosClassOf says how far the node reserves what the containers may use.
func qosClassOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	guaranteed, any := true, false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, c := range containers {
			any = any || len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				limit, limited := c.Resources.Limits[name]
				request, requested := c.Resources.Requests[name]
				guaranteed = guaranteed && limited && (!requested || request.Cmp(limit) == 0)
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
