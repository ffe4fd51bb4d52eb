package informer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// podServer answers requests for pods without holding any: objects are written
// as they are read. All are unchanged for ever, at a resourceVersion that the
// test sets. It samples the heap while it is read from.
type podServer struct {
	pods     int
	template []byte
	version  atomic.Int64
	heap     *heapSampler
}

// digits stand in the template for the number of a pod, six of them.
const digits = "@@@@@@"

func newPodServer(t testing.TB, namespace string, pods int, heap *heapSampler) *podServer {
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "deployment-5d59d67564-" + digits, GenerateName: "deployment-5d59d67564-",
			UID: "1f2e3d4c-5b6a-4978-8695-" + digits + digits, ResourceVersion: "1" + digits,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
			Labels:            map[string]string{"app": "deployment", "pod-template-hash": "5d59d67564", "tier": "backend"},
			Annotations:       map[string]string{"checksum/config": strings.Repeat("0123456789abcdef", 4)},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
				FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{` + strings.Repeat(`"f:some-label":{},`, 60) + `"f:last":{}}}}`),
			}},
		},
		Spec: corev1.PodSpec{NodeName: "node-" + digits, ServiceAccountName: "deployment", RestartPolicy: corev1.RestartPolicyAlways},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", HostIP: "10.1.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
		},
	}
	for _, name := range []string{"main", "sidecar"} {
		container := corev1.Container{Name: name, Image: "registry.example.com/project/" + name + ":v1.2.3", Command: []string{"/bin/" + name, "--serve"}}
		for k := range 12 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprint("SETTING_", k), Value: "value of " + name})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, Ready: true, Image: container.Image, ContainerID: "containerd://" + strings.Repeat("0123456789abcdef", 4)})
	}
	template, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	s := &podServer{pods: pods, template: template, heap: heap}
	s.version.Store(2_000_000)
	return s
}

func (s *podServer) client(t testing.TB) rest.Interface {
	config := &rest.Config{Host: "http://pods.example.com", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	set, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: s})
	if err != nil {
		t.Fatal(err)
	}
	return set.CoreV1().RESTClient()
}

// RoundTrip implements http.RoundTripper.
func (s *podServer) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	body := &podBody{server: s, last: s.pods, ended: request.Context().Done()}
	version := s.version.Load()
	switch {
	case query.Get("sendInitialEvents") == "true":
		body.before, body.after, body.waits = `{"type":"ADDED","object":`, "}\n", true
		body.tail = fmt.Sprintf(`{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", version)
	case query.Get("watch") != "":
		body.last, body.waits = 0, true
	default:
		next := ""
		if limit, _ := strconv.Atoi(query.Get("limit")); limit > 0 {
			body.at, _ = strconv.Atoi(query.Get("continue"))
			if body.at+limit < s.pods {
				body.last = body.at + limit
				next = strconv.Itoa(body.last)
			}
		}
		body.head = fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":"%s"},"items":[`, version, next)
		body.between, body.tail = ",", "]}"
	}
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: request, ContentLength: -1,
	}, nil
}

// podBody writes pods at to last, then waits if it is a watch.
type podBody struct {
	server                             *podServer
	head, before, after, between, tail string
	at, last                           int
	waits                              bool
	ended                              <-chan struct{}

	buffer  bytes.Buffer
	started bool
	done    bool
}

func (b *podBody) Close() error { return nil }

func (b *podBody) Read(p []byte) (int, error) {
	for b.buffer.Len() == 0 {
		switch {
		case !b.started:
			b.started = true
			b.buffer.WriteString(b.head)
		case b.at < b.last:
			b.pod()
		case !b.done:
			b.done = true
			b.buffer.WriteString(b.tail)
		case b.waits:
			<-b.ended
			return 0, http.ErrHandlerTimeout
		default:
			return 0, io.EOF
		}
	}
	return b.buffer.Read(p)
}

// pod writes the next pod.
func (b *podBody) pod() {
	b.server.heap.sample()
	b.buffer.WriteString(b.before)
	start := b.buffer.Len()
	b.buffer.Write(b.server.template)
	text := b.buffer.Bytes()[start:]
	var number [6]byte
	for k, n := 5, b.at; k >= 0; k, n = k-1, n/10 {
		number[k] = byte('0' + n%10)
	}
	for k := bytes.Index(text, []byte(digits)); k >= 0; k = bytes.Index(text, []byte(digits)) {
		copy(text[k:], number[:])
	}
	b.buffer.WriteString(b.after)
	if b.at++; b.at < b.last {
		b.buffer.WriteString(b.between)
	}
}

// heapSampler keeps the largest size of the heap that it saw.
type heapSampler struct {
	collect bool // garbage first; else it counts
	calls   atomic.Int64
	peak    atomic.Uint64
}

func (h *heapSampler) sample() {
	every := int64(16)
	if h.collect {
		every = 128
	}
	if h.calls.Add(1)%every != 0 {
		return
	}
	if h.collect {
		runtime.GC()
	}
	now := heapNow()
	for {
		peak := h.peak.Load()
		if now <= peak || h.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

func heapNow() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
