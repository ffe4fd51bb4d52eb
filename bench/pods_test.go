package bench

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

const (
	podCount     = 10000
	namespaces   = 100
	podsPerNode  = 30
	podsPrefix   = "/pods/"
	groupLabel   = "bench/group"
	nodeNameName = "spec.nodeName"
)

// basePods are the ordinary pods that every measure starts from. They are not
// changed; a measure that needs other nodes or labels works on shallow copies.
// They share their parts with nineteen others each, which keeps the heap small.
var basePods = sync.OnceValue(func() []*corev1.Pod {
	templates := make([]*corev1.Pod, 500)
	for i := range templates {
		templates[i] = ordinaryPod(i)
	}
	pods := make([]*corev1.Pod, podCount)
	for i := range pods {
		pod := *templates[i%len(templates)]
		pod.Name, pod.Namespace, pod.UID = podName(i), namespaceOf(i), podUID(i)
		pod.Spec.NodeName = nodeOf(i / podsPerNode)
		pods[i] = &pod
	}
	return pods
})

func namespaceOf(i int) string { return fmt.Sprintf("team-%03d", i%namespaces) }
func nodeOf(i int) string      { return fmt.Sprintf("node-%05d.internal", i) }
func podName(i int) string     { return fmt.Sprintf("shop-frontend-%04d-7c9d8b6f5c-%05d", i/5, i) }
func podUID(i int) types.UID {
	return types.UID(fmt.Sprintf("6f1c2a34-0000-4000-8000-%012d", i))
}

func keyOf(p *corev1.Pod) string {
	return podsPrefix + p.Namespace + "/" + p.Name
}

// ordinaryPod has what a pod of a Deployment has: two containers, a projected
// token, probes, conditions and two entries of managedFields. Five pods are
// replicas of one Deployment.
func ordinaryPod(i int) *corev1.Pod {
	app := fmt.Sprintf("shop-frontend-%04d", i/5)
	created := metav1.NewTime(time.Unix(1760000000+int64(i), 0))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              podName(i),
			GenerateName:      app + "-7c9d8b6f5c-",
			Namespace:         namespaceOf(i),
			UID:               podUID(i),
			CreationTimestamp: created,
			Generation:        1,
			Labels: map[string]string{
				"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop",
				"pod-template-hash": "7c9d8b6f5c", "tier": "frontend",
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"checksum/config": strings.Repeat("9d", 32), "shop.example.com/notes": strings.Repeat("words of an operator. ", 25),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app + "-7c9d8b6f5c",
				UID:        types.UID(fmt.Sprintf("7f1c2a34-0000-4000-8000-%012d", i/5)),
				Controller: ptr(true), BlockOwnerDeletion: ptr(true),
			}},
			ManagedFields: managedFields(app, created),
		},
		Spec:   podSpec(app, i),
		Status: podStatus(app, i, created),
	}
}

func managedFields(app string, at metav1.Time) []metav1.ManagedFieldsEntry {
	var own, status strings.Builder
	for _, name := range []string{"app.kubernetes.io/name", "app.kubernetes.io/part-of", "pod-template-hash", "tier"} {
		fmt.Fprintf(&own, `"f:%s":{},`, name)
	}
	container := `{".":{},"f:args":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},` +
		`"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},` +
		`"f:port":{},"f:scheme":{}},"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"f:name":{},` +
		`"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},` +
		`"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},` +
		`"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}`
	spec := `{"f:metadata":{"f:generateName":{},"f:labels":{".":{},` + strings.TrimSuffix(own.String(), ",") +
		`},"f:ownerReferences":{".":{},"k:{\"uid\":\"` + app + `\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":` + container +
		`,"k:{\"name\":\"proxy\"}":{".":{},"f:image":{},"f:name":{},"f:resources":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{}}}`
	for _, name := range []string{"ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"} {
		fmt.Fprintf(&status, `"k:{\"type\":\"%s\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}},`, name)
	}
	state := `{"f:status":{"f:conditions":{` + strings.TrimSuffix(status.String(), ",") +
		`},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:observedGeneration":{},"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}}`
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
		}
	}
	return []metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "", spec), entry("kubelet", "status", state),
	}
}

func podSpec(app string, i int) corev1.PodSpec {
	amounts := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	mounts := []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/" + app, ReadOnly: true},
		{Name: "kube-api-access-x7k2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
	}
	probe := &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: "HTTP"}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	container := func(name string, probe *corev1.Probe) corev1.Container {
		return corev1.Container{
			Name: name, Image: "registry.example.com/shop/" + name + ":v1.42.0", Args: []string{"--port=8080", "--config=/etc/" + app},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}},
			Env: []corev1.EnvVar{
				{Name: "LOG_LEVEL", Value: "info"}, {Name: "REGION", Value: "eu-central-1"},
				{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
			},
			Resources:              corev1.ResourceRequirements{Requests: amounts("100m", "128Mi"), Limits: amounts("1", "512Mi")},
			VolumeMounts:           mounts,
			LivenessProbe:          probe,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File", ImagePullPolicy: "IfNotPresent",
		}
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{container("app", probe), container("proxy", nil)}, RestartPolicy: "Always",
		TerminationGracePeriodSeconds: ptr(int64(30)), DNSPolicy: "ClusterFirst",
		ServiceAccountName: app, DeprecatedServiceAccount: app, NodeName: nodeOf(i / podsPerNode),
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr(true)}, SchedulerName: "default-scheduler",
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr(int64(300))},
			{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr(int64(300))},
		},
		Priority: ptr(int32(0)), EnableServiceLinks: ptr(true), PreemptionPolicy: ptr(corev1.PreemptLowerPriority),
		Volumes: podVolumes(app),
	}
}

func podVolumes(app string) []corev1.Volume {
	named := corev1.LocalObjectReference{Name: app}
	root := corev1.LocalObjectReference{Name: "kube-root-ca.crt"}
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named, DefaultMode: ptr(int32(420))}}},
		{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: ptr(int32(420)),
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: ptr(int64(3607)), Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: root, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
				}}}},
			},
		}}},
	}
}

func podStatus(app string, i int, at metav1.Time) corev1.PodStatus {
	ip := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
	host := fmt.Sprintf("192.168.%d.%d", i/podsPerNode>>8, i/podsPerNode&255)
	status := corev1.PodStatus{
		ObservedGeneration: 1, Phase: corev1.PodRunning, HostIP: host, HostIPs: []corev1.HostIP{{IP: host}},
		PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &at, QOSClass: corev1.PodQOSBurstable,
	}
	for _, name := range []corev1.PodConditionType{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: name, ObservedGeneration: 1, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	for _, name := range []string{"app", "proxy"} {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, Ready: true, Started: ptr(true), Image: "registry.example.com/shop/" + name + ":v1.42.0",
			State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
			ImageID:     "registry.example.com/shop/" + name + "@sha256:" + strings.Repeat("c4", 32),
			ContainerID: fmt.Sprintf("containerd://%064d", i),
		})
	}
	return status
}

// selectable is what field selectors of pods see, without name and namespace.
func selectable(obj runtime.Object) fields.Set {
	pod := obj.(*corev1.Pod)
	set := make(fields.Set, 10)
	set[nodeNameName] = pod.Spec.NodeName
	set["spec.restartPolicy"] = string(pod.Spec.RestartPolicy)
	set["spec.schedulerName"] = pod.Spec.SchedulerName
	set["spec.serviceAccountName"] = pod.Spec.ServiceAccountName
	set["spec.hostNetwork"] = strconv.FormatBool(pod.Spec.HostNetwork)
	set["status.phase"] = string(pod.Status.Phase)
	set["status.podIP"] = pod.Status.PodIP
	set["status.nominatedNodeName"] = pod.Status.NominatedNodeName
	return set
}

// decode makes the object of a stored version, for both sides alike.
type decode func(kv storage.KeyValue) (runtime.Object, error)

// decodeBytes reads a version as kube-apiserver has to: the value is protobuf.
func decodeBytes(kv storage.KeyValue) (runtime.Object, error) {
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(kv.Value); err != nil {
		return nil, err
	}
	pod.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
	return pod, nil
}

// decodePrepared answers with a shallow copy of a prepared pod, so that it is
// the caches that are measured and not the decoding of protobuf.
func decodePrepared(pods []*corev1.Pod) decode {
	prepared := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		prepared[keyOf(pod)] = pod
	}
	return func(kv storage.KeyValue) (runtime.Object, error) {
		pod := *prepared[kv.Key]
		pod.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
		return &pod, nil
	}
}

func ptr[T any](value T) *T { return &value }

func TestOrdinaryPodsHaveTheSizeOfOrdinaryPods(t *testing.T) {
	pod := ordinaryPod(1234)
	inJSON, err := format(formatJSON).body(pod)
	if err != nil {
		t.Fatal(err)
	}
	inProtobuf, err := format(formatProtobuf).body(pod)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes of JSON, %d of protobuf", len(inJSON), len(inProtobuf))
	if len(inJSON) < 7300 || len(inJSON) > 8200 || len(inProtobuf) < 4900 || len(inProtobuf) > 5600 {
		t.Errorf("%d bytes of JSON, %d of protobuf; want about 7700 and 5200", len(inJSON), len(inProtobuf))
	}
}
