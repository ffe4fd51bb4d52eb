package apiserver

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func podOf(change func(spec *corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "one"}}}}
	change(&pod.Spec)
	return pod
}

func jobOf(policy corev1.RestartPolicy, completions int32) *batchv1.Job {
	return &batchv1.Job{Spec: batchv1.JobSpec{Completions: &completions, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: policy, Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}}}
}

func asItIs(*corev1.PodSpec) {}

func TestObjectsThatCannotBeAreRefused(t *testing.T) {
	yes, zero, minus := true, int32(0), int32(-1)
	for _, c := range []struct {
		name      string
		next, old runtime.Object
		want      []string // the beginning of each problem
	}{
		{"a config map", &corev1.ConfigMap{Data: map[string]string{"k": "v"}}, nil, nil},
		{"a bad key", &corev1.ConfigMap{Data: map[string]string{"a b": "v"}}, nil, []string{"data[a b]: Invalid"}},
		{"a key twice", &corev1.ConfigMap{Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"k": {1}}}, nil, []string{"data[k]: Invalid value: \"k\": duplicate"}},
		{"too much data", &corev1.ConfigMap{Data: map[string]string{"k": strings.Repeat("x", maxDataSize+1)}}, nil, []string{"[]: Too long"}},
		{"a frozen config map", &corev1.ConfigMap{Data: map[string]string{"k": "w"}}, &corev1.ConfigMap{Immutable: &yes}, []string{"immutable: Forbidden", "data: Forbidden"}},
		{"a frozen secret", &corev1.Secret{Immutable: &yes, Data: map[string][]byte{"k": nil}}, &corev1.Secret{Immutable: &yes}, []string{"data: Forbidden"}},
		{"another type", &corev1.Secret{Type: "a"}, &corev1.Secret{Type: "b"}, []string{"type: Invalid"}},
		{"no certificate", &corev1.Secret{Type: corev1.SecretTypeTLS}, nil, []string{"data[tls.crt]: Required", "data[tls.key]: Required"}},
		{"no password", &corev1.Secret{Type: corev1.SecretTypeBasicAuth}, nil, []string{"data[username]: Required", "data[password]: Required"}},
		{"no account", &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken}, nil, []string{"metadata.annotations[kubernetes.io/service-account.name]: Required"}},
		{"no JSON", &corev1.Secret{Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{corev1.DockerConfigKey: []byte("x")}}, nil, []string{"data[.dockercfg]: Invalid value: \"<secret"}},
		{"a lease", &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &zero, LeaseTransitions: &minus}}, nil, []string{"spec.leaseDurationSeconds: Invalid", "spec.leaseTransitions: Invalid"}},
		{"a job", jobOf(corev1.RestartPolicyNever, 1), jobOf(corev1.RestartPolicyNever, 1), nil},
		{"a job without end", jobOf(corev1.RestartPolicyAlways, 1), nil, []string{"spec.template.spec.restartPolicy: Required"}},
		{"more completions", jobOf(corev1.RestartPolicyNever, 2), jobOf(corev1.RestartPolicyNever, 1), []string{"spec.completions: Invalid value: 2: field is immutable"}},
		{"another job", jobOf(corev1.RestartPolicyOnFailure, 1), jobOf(corev1.RestartPolicyNever, 1), []string{"spec.template: Invalid"}},
		{"a schedule", &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "1 2 3"}}, nil, []string{"spec.schedule: Invalid value: \"1 2 3\": expected exactly 5"}},
		{"a nickname", &batchv1.CronJob{Spec: batchv1.CronJobSpec{Schedule: "@daily"}}, nil, nil},
		{"a profile", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"seccomp.security.alpha.kubernetes.io/pod": "x"}}}, nil, []string{"metadata.annotations.seccomp"}},
		{"no verbs", &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{}}}, nil, []string{"rules[0].verbs: Required"}},
		{"another role", &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{Name: "a"}}, &rbacv1.RoleBinding{}, []string{"roleRef: Invalid value: {\"APIGroup\""}},
		{"another selector", &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: metav1.AddLabelToSelector(&metav1.LabelSelector{}, "a", "b")}}, &appsv1.Deployment{}, []string{"spec.template.metadata.labels: Invalid", "spec.selector: Invalid"}},
	} {
		checkProblems(t, c.name, c.next, c.old, c.want)
	}
}

func checkProblems(t *testing.T, name string, next, old runtime.Object, want []string) {
	t.Helper()
	got := validateContent(next, old)
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.HasPrefix(got[i].Error(), want[i])
	}
	if !ok {
		t.Errorf("%s: %v, want %q", name, got, want)
	}
}

func TestPodsThatCannotBeAreRefused(t *testing.T) {
	quantity := func(text string) corev1.ResourceList { return corev1.ResourceList{"cpu": apiresource.MustParse(text)} }
	for _, c := range []struct {
		name   string
		change func(spec *corev1.PodSpec)
		want   []string
	}{
		{"a plain pod", asItIs, nil},
		{"an empty pod, for tests", func(s *corev1.PodSpec) { s.Containers = nil }, nil},
		{"no image", func(s *corev1.PodSpec) { s.Containers[0].Image = "" }, []string{"spec.containers[0].image: Required"}},
		{"a bad name", func(s *corev1.PodSpec) { s.Containers[0].Name = "C" }, []string{"spec.containers[0].name: Invalid"}},
		{"a name twice", func(s *corev1.PodSpec) { s.Containers = append(s.Containers, s.Containers[0]) }, []string{"spec.containers[1].name: Duplicate"}},
		{"an unknown policy", func(s *corev1.PodSpec) { s.RestartPolicy = "Maybe" }, []string{"spec.restartPolicy: Unsupported"}},
		{"a bad node", func(s *corev1.PodSpec) { s.NodeName = "A B" }, []string{"spec.nodeName: Invalid"}},
		{"no port", func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{}} }, []string{"spec.containers[0].ports[0].containerPort: Required"}},
		{"a port too high", func(s *corev1.PodSpec) { s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 70000}} }, []string{"spec.containers[0].ports[0].containerPort: Invalid"}},
		{"no volume", func(s *corev1.PodSpec) { s.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v"}} }, []string{"spec.containers[0].volumeMounts[0].name: Not found"}},
		{"no variable", func(s *corev1.PodSpec) { s.Containers[0].Env = []corev1.EnvVar{{}} }, []string{"spec.containers[0].env[0].name: Required"}},
		{"over the limit", func(s *corev1.PodSpec) {
			s.Containers[0].Resources = corev1.ResourceRequirements{Requests: quantity("2"), Limits: quantity("1")}
		}, []string{"spec.containers[0].resources.requests: Invalid value: \"2\""}},
	} {
		checkProblems(t, c.name, podOf(c.change), nil, c.want)
	}
}

func TestLittleOfAPodMayChange(t *testing.T) {
	five, six, minus, one := int64(5), int64(6), int64(-1), int64(1)
	toleration := []corev1.Toleration{{Key: "k"}}
	for _, c := range []struct {
		name      string
		next, old func(spec *corev1.PodSpec)
		want      []string
	}{
		{"nothing", asItIs, asItIs, nil},
		{"the image", func(s *corev1.PodSpec) { s.Containers[0].Image = "two" }, asItIs, nil},
		{"a deadline", func(s *corev1.PodSpec) { s.ActiveDeadlineSeconds = &five }, asItIs, nil},
		{"a later deadline", func(s *corev1.PodSpec) { s.ActiveDeadlineSeconds = &six }, func(s *corev1.PodSpec) { s.ActiveDeadlineSeconds = &five }, []string{"spec.activeDeadlineSeconds: Invalid"}},
		{"no deadline", asItIs, func(s *corev1.PodSpec) { s.ActiveDeadlineSeconds = &five }, []string{"spec.activeDeadlineSeconds: Invalid"}},
		{"another toleration", func(s *corev1.PodSpec) { s.Tolerations = toleration }, asItIs, nil},
		{"a toleration less", asItIs, func(s *corev1.PodSpec) { s.Tolerations = toleration }, []string{"spec.tolerations: Forbidden"}},
		{"the node", func(s *corev1.PodSpec) { s.NodeName = "n" }, asItIs, []string{"spec: Forbidden: pod updates may not change fields other"}},
		{"the containers", func(s *corev1.PodSpec) { s.Containers = nil }, asItIs, []string{"spec.containers: Forbidden"}},
		{"the negative grace", func(s *corev1.PodSpec) { s.TerminationGracePeriodSeconds = &one }, func(s *corev1.PodSpec) { s.TerminationGracePeriodSeconds = &minus }, nil},
		{"the last gate", asItIs, func(s *corev1.PodSpec) { s.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }, nil},
	} {
		checkProblems(t, c.name, podOf(c.next), podOf(c.old), c.want)
	}
}
