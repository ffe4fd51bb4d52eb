package dropin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/fakeserver"
)

// tap stands between a client and the server. It writes down what the client asks,
// but for writes that conflict, in which chance has a part, and can be shut.
type tap struct {
	next http.RoundTripper
	show func(body []byte) string // what is written down of a body; nil: its essence
	down atomic.Bool              // no request passes
	why  error                    // what is said then, set before; nil: errDown

	answer atomic.Pointer[int] // the status that requests get; nil: the server's answer

	mu            sync.Mutex
	reads, writes []string
	watched       time.Time // when the last watch was asked for
}

// jsonConfig is a server's for clients of types that are custom resources here, and
// may have other encodings where they are built in.
func jsonConfig(server *fakeserver.Server) *rest.Config {
	config := server.Config()
	config.ContentType = runtime.ContentTypeJSON
	return config
}

// config is a server's, through the tap.
func (t *tap) config(server *fakeserver.Server) *rest.Config {
	return t.between(jsonConfig(server))
}

// between puts the tap into a configuration.
func (t *tap) between(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		t.next = next
		return t
	})
	return config
}

var errDown = errors.New("the tap is shut")

// RoundTrip implements http.RoundTripper.
func (t *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.down.Load() {
		return nil, cmp.Or(t.why, errDown)
	}
	if status := t.answer.Load(); status != nil {
		return refused(r, *status), nil
	}
	if r.Method == http.MethodGet {
		t.read(*r.URL)
		return t.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusConflict {
		return response, nil
	}
	show := essence
	if t.show != nil {
		show = t.show
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes = append(t.writes, fmt.Sprintf("%s %s %s %d", r.Method, r.URL, show(body), response.StatusCode))
	return response, nil
}

// refused is the answer of a server that refuses a request.
func refused(r *http.Request, code int) *http.Response {
	status := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, true).Status()
	body, _ := json.Marshal(status)
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// read writes down a read, without the times in it, which are random.
func (t *tap) read(of url.URL) {
	query := of.Query()
	watch := query.Get("watch") != ""
	query.Del("timeout")
	query.Del("timeoutSeconds")
	of.RawQuery = query.Encode()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads = append(t.reads, "GET "+of.String())
	if watch {
		t.watched = time.Now()
	}
}

// young is for how long a watch through the tap may be a very short one yet.
func (t *tap) young() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Until(t.watched.Add(2 * time.Second))
}

// grown waits until no watch through taps is young. Whoever drops watches calls it before
// that: client-go lists again after a request that fails and after a very short watch, and
// a watch can have come to its end, and be asked for again, at any moment.
//
// bubble: used in them only
func grown(taps ...*tap) {
	for {
		synctest.Wait() // a watch may end at this very moment, and is asked for again then
		var d time.Duration
		for _, t := range taps {
			d = max(d, t.young())
		}
		if d <= 0 {
			return
		}
		time.Sleep(d)
	}
}

// take returns the requests since the last take.
func (t *tap) take() (reads, writes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	reads, writes = t.reads, t.writes
	t.reads, t.writes = nil, nil
	return reads, writes
}

// essence is a body without what differs from run to run.
func essence(body []byte) string {
	var content any
	if err := json.Unmarshal(body, &content); err != nil {
		return string(body)
	}
	without(content)
	text, err := json.Marshal(content)
	if err != nil {
		return string(body)
	}
	return string(text)
}

func without(content any) {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			switch key {
			case "uid", "resourceVersion", "creationTimestamp", "lastTransitionTime", "managedFields":
				delete(content, key)
			default:
				without(value)
			}
		}
	case []any:
		for _, value := range content {
			without(value)
		}
	}
}
