package factory_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// script is a server of widgets, whose CustomResourceDefinition comes and goes.
//
// bubble: made and used inside one
type script struct {
	mu        sync.Mutex
	version   int
	defined   bool // the definition exists
	served    bool // and the server serves it
	forbidden bool // nobody may read definitions
	asked     []string
	open      map[*io.PipeWriter]string // watches, by resource
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	watch := r.URL.Query().Get("watch") != ""
	verb := "list "
	if watch {
		verb = "watch "
	}
	s.asked = append(s.asked, verb+resource)
	switch {
	case r.URL.Path == definitionsPath && s.forbidden:
		return refuse(r, metav1.StatusReasonForbidden, 403), nil
	case resource == "widgets" && !s.served:
		return refuse(r, metav1.StatusReasonNotFound, 404), nil
	case watch:
		reader, writer := io.Pipe()
		s.open[writer] = resource
		stop := func() { _ = writer.CloseWithError(io.ErrUnexpectedEOF) }
		go func() { <-r.Context().Done(); stop() }() // worker: of a test
		return respond(r, 200, reader), nil
	case resource == "widgets":
		return respond(r, 200, text(`{"kind":"WidgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`,
			s.version, s.widget())), nil
	default:
		items := ""
		if s.defined {
			items = s.definition()
		}
		return respond(r, 200, text(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`,
			s.version, items)), nil
	}
}

func (s *script) widget() string {
	return fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"namespace":"default","name":"w","uid":"w1","resourceVersion":"%d"}}`, s.version)
}

func (s *script) definition() string {
	return fmt.Sprintf(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"widgets.example.com","uid":"d1","resourceVersion":"%d"}}`, s.version)
}

// change makes a change, and ends the watches of what is not served any more.
func (s *script) change(defined, served bool) {
	s.mu.Lock()
	event := "MODIFIED"
	switch {
	case defined && !s.defined:
		event = "ADDED"
	case s.defined && !defined:
		event = "DELETED"
	}
	s.version++
	s.defined, s.served = defined, served
	frame := fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", event, s.definition())
	var told []*io.PipeWriter
	for writer, resource := range s.open {
		switch {
		case resource != "widgets":
			told = append(told, writer)
		case !served:
			delete(s.open, writer)
			_ = writer.Close()
		}
	}
	s.mu.Unlock()
	for _, writer := range told {
		_, _ = writer.Write([]byte(frame)) // one that has ended does not wait
	}
}

// serve starts to serve widgets without a change of their definition.
func (s *script) serve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = true
}

// count counts requests.
func (s *script) count(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, asked := range s.asked {
		if asked == what {
			n++
		}
	}
	return n
}

func refuse(r *http.Request, reason metav1.StatusReason, code int32) *http.Response {
	status, _ := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: code,
		Message: "the server could not find the requested resource",
	})
	return respond(r, int(code), text("%s", status))
}

func text(format string, args ...any) io.ReadCloser {
	return io.NopCloser(strings.NewReader(fmt.Sprintf(format, args...)))
}

func respond(r *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Request: r,
	}
}
