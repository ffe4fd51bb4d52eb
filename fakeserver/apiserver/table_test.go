package apiserver

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

func TestEveryResourceIsPrintedAsATableThatClientsCanRead(t *testing.T) {
	everyResource(t, func(r *resource) {
		for _, include := range []string{"", "None", "Metadata", "Object"} {
			e := newEncoder(r, output{as: tableForm, metaVersion: "v1", include: include})
			empty := reflect.New(r.stored.goType).Interface().(runtime.Object)
			stored := empty.DeepCopyObject()
			metadataFrom(stored).SetName("x")
			metadataFrom(stored).SetCreationTimestamp(metav1.Now())
			list, err := e.list(metav1.ListMeta{ResourceVersion: "9"}, []*cacher.Item{{Object: empty}, {Object: stored}})
			if err != nil {
				t.Fatalf("%s: %v", r.gvr, err)
			}
			var table metav1.Table
			if err := json.Unmarshal(list.whole(), &table); err != nil {
				t.Fatalf("%s: %v in %s", r.gvr, err, list.whole())
			}
			if table.Kind != "Table" || table.APIVersion != "meta.k8s.io/v1" || table.ResourceVersion != "9" || len(table.Rows) != 2 {
				t.Errorf("%s: got %s", r.gvr, list.whole())
			}
			for _, row := range table.Rows {
				if len(row.Cells) != len(table.ColumnDefinitions) {
					t.Errorf("%s: %d cells in %d columns", r.gvr, len(row.Cells), len(table.ColumnDefinitions))
				}
				checkCells(t, r, table.ColumnDefinitions, row.Cells)
			}
		}
	})
}

func checkCells(t *testing.T, r *resource, columns []metav1.TableColumnDefinition, cells []any) {
	t.Helper()
	for i, c := range columns {
		if c.Name == "" || c.Description == "" {
			t.Errorf("%s: column %q is not described", r.gvr, c.Name)
		}
		if _, ok := cells[i].(float64); c.Type == "integer" && !ok {
			t.Errorf("%s: %s is %v", r.gvr, c.Name, cells[i])
		}
		if text, ok := cells[i].(string); ok && strings.ContainsRune(text, ageMark) {
			t.Errorf("%s: %s has a hole", r.gvr, c.Name)
		}
	}
}

// rowOf prints an object, with ages an hour after when.
func rowOf(t *testing.T, gr schema.GroupResource, obj runtime.Object) []any {
	t.Helper()
	data, err := appendCells(nil, printerOf(gr).cells(obj))
	if err != nil {
		t.Fatal(err)
	}
	var cells []any
	if err := json.Unmarshal(appendFilled(nil, data, when.Add(time.Hour)), &cells); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return cells
}

var when = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: metav1.Time{Time: when}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	change(p)
	return p
}

func status(name string, ready bool, restarts int32, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, Ready: ready, RestartCount: restarts, State: state}
}

var (
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	yes     = true
	always  = corev1.ContainerRestartPolicyAlways
)

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func ended(code, signal int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Signal: signal, Reason: reason}}
}

func statuses(all ...corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses = all }
}

var podSummaries = []struct {
	name                    string
	change                  func(*corev1.Pod)
	ready, reason, restarts string
}{
	{"nothing known", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, "0/2", "Pending", "0"},
	{"running", statuses(status("a", true, 0, running), status("b", true, 2, running)), "2/2", "Running", "2"},
	{"one waits", statuses(status("a", true, 0, running), status("b", false, 0, waiting("ImagePullBackOff"))), "1/2", "ImagePullBackOff", "0"},
	{"the first of two reasons", statuses(status("a", false, 0, waiting("X")), status("b", false, 0, ended(1, 0, "Y"))), "0/2", "X", "0"},
	{"ended by a signal", statuses(status("a", false, 0, ended(0, 9, ""))), "0/2", "Signal:9", "0"},
	{"ended with a code", statuses(status("a", false, 0, ended(3, 0, ""))), "0/2", "ExitCode:3", "0"},
	{"one completed", statuses(status("a", false, 0, ended(0, 0, "Completed")), status("b", true, 0, running)), "1/2", "NotReady", "0"},
	{"deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: when} }, "0/2", "Terminating", "0"},
	{"deleted and failed", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Status.Phase = &metav1.Time{Time: when}, corev1.PodFailed
	}, "0/2", "Failed", "0"},
	{"node lost", func(p *corev1.Pod) {
		p.DeletionTimestamp, p.Status.Reason = &metav1.Time{Time: when}, "NodeLost"
	}, "0/2", "Unknown", "0"},
	{"gated", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Reason: corev1.PodReasonSchedulingGated}}
	}, "0/2", "SchedulingGated", "0"},
	{"initialising", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}, {Name: "j"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{status("i", false, 0, ended(0, 0, "")), status("j", false, 1, running)}
	}, "0/2", "Init:1/2", "1"},
	{"initialising fails", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{status("i", false, 0, waiting("CrashLoopBackOff"))}
	}, "0/2", "Init:CrashLoopBackOff", "0"},
	{"with a sidecar", func(p *corev1.Pod) {
		sidecar := status("s", true, 1, running)
		sidecar.Started = &yes
		p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{sidecar}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{status("a", true, 0, running)}
	}, "2/3", "Running", "1"},
	{"restarted a while ago", func(p *corev1.Pod) {
		again := status("a", true, 4, running)
		again.LastTerminationState = ended(1, 0, "")
		again.LastTerminationState.Terminated.FinishedAt = metav1.Time{Time: when.Add(30 * time.Minute)}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{again}
	}, "1/2", "Running", "4 (30m ago)"},
}

func TestPodsAreSummarised(t *testing.T) {
	for _, c := range podSummaries {
		t.Run(c.name, func(t *testing.T) {
			got := rowOf(t, schema.GroupResource{Resource: "pods"}, pod(c.change))
			want := []any{"p", c.ready, c.reason, c.restarts, "60m", noneCell, noneCell, noneCell, noneCell}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var (
	printedMeta     = metav1.ObjectMeta{Name: "x", CreationTimestamp: metav1.Time{Time: when}}
	printedTemplate = corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "i"}, {Name: "b", Image: "j"}}}}
	printedSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"k": "v"}}
	two             = int32(2)
)

var printedKinds = []struct {
	resource string
	obj      runtime.Object
	want     []any
}{
	{"deployments.apps", &appsv1.Deployment{
		ObjectMeta: printedMeta, Spec: appsv1.DeploymentSpec{Replicas: &two, Template: printedTemplate, Selector: printedSelector},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 1, UpdatedReplicas: 2, AvailableReplicas: 1},
	}, []any{"x", "1/2", 2.0, 1.0, "60m", "a,b", "i,j", "k=v"}},
	{"jobs.batch", &batchv1.Job{
		ObjectMeta: printedMeta, Spec: batchv1.JobSpec{Completions: &two, Template: printedTemplate},
		Status: batchv1.JobStatus{Succeeded: 1, StartTime: &metav1.Time{Time: when.Add(50 * time.Minute)}},
	}, []any{"x", "Running", "1/2", "10m", "60m", "a,b", "i,j", noneCell}},
	{"cronjobs.batch", &batchv1.CronJob{ObjectMeta: printedMeta, Spec: batchv1.CronJobSpec{Schedule: "@daily"}},
		[]any{"x", "@daily", noneCell, unsetCell, 0.0, noneCell, "60m", "", "", noneCell}},
	{"services", &corev1.Service{
		ObjectMeta: printedMeta, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}},
		},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: "h"}, {IP: "1.2.3.4"}}}},
	}, []any{"x", "LoadBalancer", "10.0.0.1", "1.2.3.4,h", "80:30080/TCP", "60m", noneCell}},
	//lint:ignore SA1019 clients still list them
	{"endpoints", &corev1.Endpoints{ObjectMeta: printedMeta, Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: "1.1.1.1"}, {IP: "::1"}}, Ports: []corev1.EndpointPort{{Port: 1}, {Port: 2}},
	}}}, []any{"x", "1.1.1.1:1,1.1.1.1:2,[::1]:1 + 1 more...", "60m"}},
	{"endpointslices.discovery.k8s.io", &discoveryv1.EndpointSlice{
		ObjectMeta: printedMeta, AddressType: "IPv4", Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"1.1.1.1"}}},
	}, []any{"x", "IPv4", unsetCell, "1.1.1.1", "60m"}},
	{"ingresses.networking.k8s.io", &networkingv1.Ingress{ObjectMeta: printedMeta, Spec: networkingv1.IngressSpec{
		Rules: []networkingv1.IngressRule{{Host: "h"}}, TLS: []networkingv1.IngressTLS{{}},
	}}, []any{"x", noneCell, "h", "", "80, 443", "60m"}},
	{"nodes", &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "x", CreationTimestamp: printedMeta.CreationTimestamp, Labels: map[string]string{"node-role.kubernetes.io/w": ""}},
		Spec:       corev1.NodeSpec{Unschedulable: true},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1"},
		},
	}, []any{"x", "Ready,SchedulingDisabled", "w", "60m", "v1", noneCell, noneCell, unknownCell, unknownCell, unknownCell}},
	{"persistentvolumeclaims", &corev1.PersistentVolumeClaim{ObjectMeta: printedMeta, Status: corev1.PersistentVolumeClaimStatus{Phase: "Pending"}},
		[]any{"x", "Pending", "", "", "", "", unsetCell, "60m", unsetCell}},
	{"storageclasses.storage.k8s.io", &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "x", CreationTimestamp: printedMeta.CreationTimestamp, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner: "d",
	}, []any{"x (default)", "d", "Delete", unsetCell, false, "60m"}},
	{"rolebindings.rbac.authorization.k8s.io", &rbacv1.RoleBinding{
		ObjectMeta: printedMeta, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "u"}, {Kind: "ServiceAccount", Namespace: "n", Name: "s"}},
	}, []any{"x", "Role/r", "60m", "u", "", "n/s"}},
	{"horizontalpodautoscalers.autoscaling", &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: printedMeta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 5, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d"},
			Metrics: []autoscalingv2.MetricSpec{{Resource: &autoscalingv2.ResourceMetricSource{
				Name: "cpu", Target: autoscalingv2.MetricTarget{AverageUtilization: &two},
			}}},
		},
	}, []any{"x", "Deployment/d", "cpu: <unknown>/2%", unsetCell, 5.0, 0.0, "60m"}},
}

func TestKindsArePrinted(t *testing.T) {
	for _, c := range printedKinds {
		t.Run(c.resource, func(t *testing.T) {
			if diff := cmp.Diff(c.want, rowOf(t, schema.ParseGroupResource(c.resource), c.obj)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTextThatLooksLikeAHoleIsNotTakenForOne(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Type: "\x011\x01"}
	got := rowOf(t, schema.GroupResource{Resource: "secrets"}, secret)
	if diff := cmp.Diff([]any{"x", "\x011\x01", 0.0, unknownCell}, got); diff != "" {
		t.Error(diff)
	}
}
