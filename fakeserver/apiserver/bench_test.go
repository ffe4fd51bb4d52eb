package apiserver

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/fakeserver/cacher"
)

// manyPods fills a server.
func manyPods(b *testing.B, n int) *rig {
	r := newRig(b, Options{})
	for i := range n {
		body := fmt.Sprintf(`{"metadata":{"name":"pod-%05d","labels":{"app":"a"}},"spec":{"nodeName":"n","containers":[
			{"name":"c","image":"registry.example/app:1","env":[{"name":"A","value":"b"}]}]}}`, i)
		if got := r.do("POST", "/api/v1/namespaces/default/pods", body); got.code != http.StatusCreated {
			b.Fatalf("%s", got.body)
		}
	}
	return r
}

// discard is a response that nobody reads.
type discard struct {
	header http.Header
	bytes  int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Flush()              {}
func (d *discard) Write(data []byte) (int, error) {
	d.bytes += len(data)
	return len(data), nil
}

// BenchmarkListOf10000Pods is a list whose pods other readers had before; ms-first
// is the time of one for which they are encoded.
func BenchmarkListOf10000Pods(b *testing.B) {
	for name, accept := range map[string]string{
		"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf", "table": tableType,
		"metadata": "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "yaml": "application/yaml",
	} {
		b.Run(name, func(b *testing.B) {
			r := manyPods(b, 10000)
			r.do("GET", "/api/v1/pods?labelSelector=none", "") // waits for the cache
			for first := true; b.Loop(); first = false {
				answer := &discard{header: http.Header{}}
				r.ServeHTTP(answer, newRequest("GET", "/api/v1/pods?resourceVersion=0", "", "Accept", accept))
				if first {
					b.ReportMetric(float64(b.Elapsed().Milliseconds()), "ms-first")
					b.ReportMetric(float64(answer.bytes), "bytes")
				}
			}
		})
	}
}

// BenchmarkFrame is the frame of an event whose object other streams had before.
func BenchmarkFrame(b *testing.B) {
	for name, out := range map[string]output{
		"json": {}, "protobuf": {format: formatProtobuf}, "table": {as: tableForm, metaVersion: "v1"},
	} {
		b.Run(name, func(b *testing.B) {
			r := manyPods(b, 1)
			found, pods := r.served.Load().find(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
			item, err := pods.getObject(b.Context(), cacher.Scope{Namespace: "default", Name: "pod-00000"}, "")
			if err != nil {
				b.Fatal(err)
			}
			s, err := newEventStream(&request{resource: found}, out)
			if err != nil {
				b.Fatal(err)
			}
			s.transport, s.sent = &bodyTransport{w: io.Discard}, func(int) {}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.event(cacher.Event{Type: "ADDED", Item: item}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	r := newRig(b, Options{})
	i := 0
	for b.Loop() {
		i++
		r.do("POST", configMaps, fmt.Sprintf(`{"metadata":{"name":"a%d"},"data":{"k":"v"}}`, i))
	}
}
