package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/internal/bubble"
)

// rig is a server whose requests are function calls.
type rig struct {
	*Server
	store *storage.Memory
}

func newRig(tb testing.TB, options Options) *rig {
	tb.Helper()
	store := storage.NewMemory()
	if options.Store == nil {
		options.Store = store
	}
	server, err := New(options)
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{Server: server, store: store}
	tb.Cleanup(func() {
		server.Close()
		store.Close()
	})
	return r
}

// inBubble is a rig that ends with the spec.
func inBubble() *rig { return newRig(bubble.TB(), Options{}) }

// answer is a response that has been read whole.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// object is the body as JSON.
func (a answer) object() map[string]any {
	decoded := map[string]any{}
	_ = json.Unmarshal(a.body, &decoded)
	return decoded
}

// at reads a path like "metadata.name" of the body.
func (a answer) at(path string) any { return at(a.object(), path) }

func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// names are those of the items of a list.
func (a answer) names() []string {
	names := []string{}
	items, _ := a.object()["items"].([]any)
	for _, item := range items {
		names = append(names, at(item, "metadata.name").(string))
	}
	return names
}

func newRequest(method, path, body string, header ...string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequest(method, path, reader)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

// do makes one request; header is names and values in turn.
func (r *rig) do(method, path, body string, header ...string) answer {
	recorder := httptest.NewRecorder()
	r.ServeHTTP(recorder, newRequest(method, path, body, header...))
	return answer{code: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
}

// must is do whose status has to be code.
func (r *rig) must(code int, method, path, body string) answer {
	got := r.do(method, path, body)
	gomega.ExpectWithOffset(1, got.code).To(gomega.Equal(code), "%s %s: %s", method, path, got.body)
	return got
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// configMap creates one and returns its resourceVersion.
func (r *rig) configMap(name, more string) string {
	created := r.must(http.StatusCreated, "POST", configMaps, `{"metadata":{"name":"`+name+`"`+more+`}}`)
	return created.at("metadata.resourceVersion").(string)
}

// metaCodec decodes what a client that knows the reduced forms decodes.
var metaCodec = func() runtime.Decoder {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(all); err != nil {
			panic(err)
		}
	}
	return protobuf.NewSerializer(all, all)
}()

// stream is a response that is read while it is being written.
type stream struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	code    int
	header  http.Header
	body    bytes.Buffer // what was flushed
	pending bytes.Buffer // what was not
	flushes int
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = code
}

func (s *stream) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending.Write(data)
}

func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes++
	_, _ = s.pending.WriteTo(&s.body)
}

// open begins a request in a goroutine of its own.
func (r *rig) open(path string, header ...string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{cancel: cancel, done: make(chan struct{}), header: http.Header{}}
	req := newRequest("GET", path, "", header...).WithContext(ctx)
	go func() {
		defer close(s.done)
		r.ServeHTTP(s, req)
	}()
	return s
}

// ended says whether the server has ended the response.
func (s *stream) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// status is the code of the headers that were flushed, 0 before.
func (s *stream) status() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushes == 0 {
		return 0
	}
	return s.code
}

// flushed is the body so far.
func (s *stream) flushed() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.body.Bytes())
}

// events are the JSON frames so far, each as "TYPE name@version", or as "TYPE
// code" for errors; a bookmark that ends the initial events is "END".
func (s *stream) events() []string {
	events := []string{}
	decoder := json.NewDecoder(bytes.NewReader(s.flushed()))
	for {
		var frame struct {
			Type   string
			Object map[string]any
		}
		if decoder.Decode(&frame) != nil {
			return events
		}
		version, _ := at(frame.Object, "metadata.resourceVersion").(string)
		name, _ := at(frame.Object, "metadata.name").(string)
		text := frame.Type + " " + name + "@" + version
		switch {
		case frame.Type == "ERROR":
			text = frame.Type + " " + at(frame.Object, "reason").(string)
		case at(frame.Object, "metadata.annotations") != nil && frame.Type == "BOOKMARK":
			text = "END @" + version
		}
		events = append(events, text)
	}
}
