package endtoend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// weather is a wire that misbehaves as its seed says: while it is stormy some
// requests are refused, answered with an error, late, cut in the middle of an
// answer, or go silent.
//
// bubble: the wire of walks
type weather struct {
	next http.RoundTripper

	mu     sync.Mutex // guards the rest
	random *rand.Rand
	storm  float64 // probability of a fault of each request
	open   map[*flow]struct{}
	counts map[string]int
}

func newWeather(seed uint64) *weather {
	return &weather{random: rand.New(rand.NewPCG(seed, 1)), open: map[*flow]struct{}{}, counts: map[string]int{}}
}

// over is the wire through the weather.
func (w *weather) over(next http.RoundTripper) http.RoundTripper {
	w.next = next
	return w
}

// faults are what can befall a request, and how often in proportion.
var faults = []string{"refused", "429", "500", "503", "504", "410", "late", "truncated", "ended", "silent", "truncated"}

// set changes the weather; 0 is fine.
func (w *weather) set(storm float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.storm = storm
}

// draw says what befalls a request, and how many bytes of the answer arrive
// before that.
func (w *weather) draw(r *http.Request) (fault string, bytes int, late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.random.Float64() >= w.storm {
		return "", 0, 0
	}
	fault = faults[w.random.IntN(len(faults))]
	// 410 tells a client to begin anew, so that it is no answer to that.
	if query := r.URL.Query(); fault == "410" && (query.Get("watch") == "" || query.Get("sendInitialEvents") != "") {
		fault = "500"
	}
	w.counts[fault]++
	return fault, w.random.IntN(3000), time.Duration(w.random.IntN(5000)) * time.Millisecond
}

// RoundTrip implements http.RoundTripper.
func (w *weather) RoundTrip(r *http.Request) (*http.Response, error) {
	fault, bytes, late := w.draw(r)
	switch fault {
	case "refused":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "429", "500", "503", "504", "410":
		return errorAnswer(r, fault), nil
	case "late":
		select {
		case <-time.After(late):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	response, err := w.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	f := &flow{weather: w, body: response.Body, caller: r.Context(), cancel: cancel, broken: make(chan struct{}), end: fault, left: bytes}
	response.Body = f
	w.mu.Lock()
	w.open[f] = struct{}{}
	w.mu.Unlock()
	return response, nil
}

// cut breaks every answer that is under way.
func (w *weather) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.open {
		w.counts["cut"]++
		delete(w.open, f)
		close(f.broken)
		f.cancel()
	}
}

// total adds the counts to those of others.
func (w *weather) total(into map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for fault, n := range maps.All(w.counts) {
		into[fault] += n
	}
}

// flow is the body of an answer that may end badly.
type flow struct {
	weather *weather
	body    io.ReadCloser
	caller  context.Context
	cancel  func()
	broken  chan struct{} // closed by a cut
	end     string        // "truncated", "ended" or "silent" after left bytes; else all arrives
	left    int
}

func (f *flow) Read(p []byte) (int, error) {
	short := f.end == "truncated" || f.end == "ended" || f.end == "silent"
	if short && f.left == 0 {
		return 0, f.stop()
	}
	if short {
		p = p[:min(len(p), f.left)]
	}
	n, err := f.body.Read(p)
	f.left -= n
	if err != nil {
		select {
		case <-f.broken:
			err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
		default:
		}
	}
	return n, err
}

// stop is how a short answer ends.
func (f *flow) stop() error {
	switch f.end {
	case "truncated":
		return io.ErrUnexpectedEOF
	case "ended":
		return io.EOF
	}
	select {
	case <-f.broken:
		return &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case <-f.caller.Done():
		return f.caller.Err()
	}
}

func (f *flow) Close() error {
	f.weather.mu.Lock()
	delete(f.weather.open, f)
	f.weather.mu.Unlock()
	f.cancel()
	return f.body.Close()
}

// errorAnswer is an answer with an error, as a server or a proxy gives it.
func errorAnswer(r *http.Request, code string) *http.Response {
	resource := schema.GroupResource{Resource: "configmaps"}
	var err *apierrors.StatusError
	header := http.Header{"Content-Type": {"application/json"}}
	switch code {
	case "429":
		err = apierrors.NewTooManyRequests("slow down", 2)
		header.Set("Retry-After", "2")
	case "500":
		err = apierrors.NewInternalError(fmt.Errorf("etcdserver: leader changed"))
	case "503":
		err = apierrors.NewServiceUnavailable("apiserver is shutting down")
	case "504":
		err = apierrors.NewTimeoutError("no answer", 1)
	case "410":
		err = apierrors.NewResourceExpired("too old resource version")
	default:
		err = apierrors.NewGenericServerResponse(http.StatusTeapot, r.Method, resource, "", code, 0, true)
	}
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, marshalErr := json.Marshal(status)
	if marshalErr != nil {
		panic(marshalErr)
	}
	number, _ := strconv.Atoi(code)
	return &http.Response{
		StatusCode: number, Status: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(string(body))), Request: r,
	}
}
