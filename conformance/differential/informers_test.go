package differential

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// contestant is an informer of either side.
type contestant interface {
	// run returns when ctx has ended and everything has stopped.
	run(ctx context.Context)
	addHandler(h *handler) error
	removeHandler(name string)
	addIndex() error
	// synced says whether the informer has, or a handler.
	synced(handler string) bool
	// store returns the version of the cache, its objects, and the keys of the
	// index under a value.
	store() (version string, objects []any, byIndex func(value string) []string)
	// ask answers a question of the script in words.
	ask(question string, words []string) string
}

// settings are what a script says about both informers.
type settings struct {
	kind      kind
	transform func(runtime.Object) (runtime.Object, error)
	resync    time.Duration // of handlers that ask for no other
	// indexLater leaves the index to addIndex.
	indexLater bool
	payloads   bool // show the types of a delete's payload
}

// configure takes a command that changes settings.
func (s *settings) configure(c command) (bool, error) {
	var err error
	switch c.name {
	case "unstructured":
		s.kind = untyped{}
	case "metadata":
		s.kind = metadata{}
	case "index-later":
		s.indexLater = true
	case "payloads":
		s.payloads = true
	case "resync":
		s.resync, err = time.ParseDuration(strings.Join(c.words, " "))
	case "transform":
		s.transform, err = transformOf(c.words)
	default:
		return false, nil
	}
	return true, err
}

// transformOf makes the function that a script asks for.
func transformOf(words []string) (func(runtime.Object) (runtime.Object, error), error) {
	switch strings.Join(words[:min(1, len(words))], "") {
	case "stamp":
		return func(o runtime.Object) (runtime.Object, error) {
			m := o.(metav1.Object)
			n, _ := strconv.Atoi(m.GetAnnotations()[stampAnnotation])
			m.SetAnnotations(map[string]string{stampAnnotation: fmt.Sprint(n + 1)})
			return o, nil
		}, nil
	case "fail": // for the objects at these versions
		return func(o runtime.Object) (runtime.Object, error) {
			if m := o.(metav1.Object); slices.Contains(words[1:], m.GetName()+"@"+m.GetResourceVersion()) {
				return nil, fmt.Errorf("as the script says")
			}
			return o, nil
		}, nil
	}
	return nil, fmt.Errorf("no transform is called %q", words)
}

// handler records what it is told.
type handler struct {
	name     string
	payloads bool
	blocked  chan struct{}  // calls wait until it is closed; nil: they do not
	resync   *time.Duration // nil: the informer's
	// latestOnly: the latest state of each object is enough, which is an option
	// of ours only.
	latestOnly bool

	mu    sync.Mutex
	run   int
	order []string          // keys in the order of calls since takeOrder
	calls map[string][]call // by key: there is no order between keys in a relist
}

func newHandler(name string) *handler { return &handler{name: name, calls: map[string][]call{}} }

func (h *handler) record(c call) {
	h.mu.Lock()
	c.run, c.latestOnly = h.run, h.latestOnly
	h.order = append(h.order, c.key)
	h.calls[c.key] = append(h.calls[c.key], c)
	h.mu.Unlock()
	if h.blocked != nil {
		<-h.blocked
	}
}

func (h *handler) added(key string, obj any, initial bool) {
	h.record(call{key: key, op: "add", new: describe(obj), initial: initial})
}

func (h *handler) updated(key string, old, obj any) {
	h.record(call{key: key, op: "update", old: describe(old), new: describe(obj)})
}

func (h *handler) deleted(key string, obj any, missed bool, payload string) {
	c := call{key: key, op: "delete", old: describe(obj), missed: missed}
	if h.payloads {
		c.payload = " as " + payload
	}
	h.record(c)
}

// takeOrder returns the keys of the calls since the last time.
func (h *handler) takeOrder() (keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keys, h.order = h.order, nil
	return keys
}

// lines returns the calls by key.
func (h *handler) lines() []line {
	h.mu.Lock()
	defer h.mu.Unlock()
	var keys []string
	for key := range h.calls {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var lines []line
	for _, key := range keys {
		for _, c := range h.calls[key] {
			lines = append(lines, line{text: c.String(), call: &c})
		}
	}
	return lines
}

// yesNo writes a truth.
func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
