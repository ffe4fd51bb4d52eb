package endtoend_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
	"github.com/listwatch/listwatch/reflector"
)

// participant is one informer of a walk, of whatever type.
type participant interface {
	describe() string
	start()
	stop()
	join()
	part()
	look()
	settle(ctx context.Context, server informertest.Server) error
	verify(history *informertest.History) error
	wire() *weather
	relists() int
}

// membership is what a member is made of.
type membership struct {
	t       *testing.T
	name    string
	weather *weather
	random  *rand.Rand
	match   func(metav1.Object) bool // what its source selects
}

// member is a participant over objects of type T, with handlers that come and
// go and a reader.
//
// bubble: made in one
type member[T informer.Object] struct {
	membership
	inf      *informer.Informer[T]
	cancel   context.CancelFunc // nil: it does not run
	ended    chan error
	handlers []*handler[T]
	left     []*handler[T]
	reads    []informertest.Entry
}

// handler is one registration and what came of it.
type handler[T informer.Object] struct {
	informertest.Recorder[T]
	name    string
	reg     *informer.Registration
	options informertest.VerifyOptions
}

// content is what the writers put where all types of objects have it.
func content(obj metav1.Object) string { return obj.GetAnnotations()["content"] }

func newMember[T informer.Object](place membership, source reflector.Source[T], options informer.Options[T]) *member[T] {
	options.Name = place.name
	inf, err := informer.New(source, options)
	if err != nil {
		place.t.Fatal(err)
	}
	return &member[T]{membership: place, inf: inf}
}

// randomOptions are options for which an informer keeps its promises just so.
//
// bubble: a busy cache sleeps
func randomOptions[T informer.Object](random *rand.Rand) informer.Options[T] {
	options := informer.Options[T]{MaxPending: random.IntN(3) * 3}
	options.Reflector.DisableWatchList = random.IntN(2) == 0
	options.Reflector.PageSize = int64(random.IntN(3) * 3)
	if random.IntN(2) == 0 {
		options.Reflector.IdleTimeout = 90 * time.Second
	}
	if random.IntN(3) == 0 { // a cache that is busy, so that deltas are merged
		options.Indexes = map[string]indexer.Func[T]{"slow": func(T) []string {
			time.Sleep(time.Second)
			return nil
		}}
	}
	return options
}

func (m *member[T]) describe() string { return m.name }

func (m *member[T]) wire() *weather { return m.weather }

// relists counts complete lists but the first.
func (m *member[T]) relists() int {
	n := -1
	for _, count := range m.inf.Status().Reflector.Relists {
		n += int(count)
	}
	return n
}

func (m *member[T]) start() {
	if m.cancel != nil {
		return
	}
	// The weather is no news.
	ctx, cancel := context.WithCancel(klog.NewContext(m.t.Context(), logr.Discard()))
	ended := make(chan error, 1)
	m.cancel, m.ended = cancel, ended
	go func() { ended <- m.inf.Run(ctx) }()
}

func (m *member[T]) stop() {
	if m.cancel == nil {
		return
	}
	m.cancel()
	if err := <-m.ended; err != nil {
		m.t.Errorf("%s: Run: %v", m.name, err)
	}
	m.cancel = nil
}

// join adds a handler of a random kind, some of which take their time.
func (m *member[T]) join() {
	h := &handler[T]{}
	h.Look = m.random.IntN(2) == 0
	if pause := time.Duration(m.random.IntN(2000)-1000) * time.Millisecond; pause > 0 {
		h.Hold = func() { time.Sleep(pause) }
	}
	var options []informer.HandlerOption
	if m.random.IntN(3) == 0 {
		h.name += ", latest only"
		h.options.LatestOnly = true
		options = append(options, informer.WithLatestOnly())
	}
	if m.random.IntN(4) == 0 {
		h.name += ", filtered"
		h.options.Filter = func(obj metav1.Object) bool { return obj.GetLabels()["x"] == "0" }
		options = append(options, informer.WithFilter(func(obj T) bool { return h.options.Filter(obj) }))
	}
	if m.random.IntN(4) == 0 {
		h.name += ", with resync"
		h.options.Resyncs = true
		options = append(options, informer.WithResync(time.Duration(1+m.random.IntN(60))*time.Second))
	}
	m.attach(h, options...)
}

func everything(metav1.Object) bool { return true }

func (m *member[T]) attach(h *handler[T], options ...informer.HandlerOption) {
	h.name = fmt.Sprintf("%s, handler %d%s", m.name, len(m.handlers)+len(m.left)+1, h.name)
	h.Content = content
	var err error
	if h.reg, err = h.Attach(m.inf, options...); err != nil {
		m.t.Fatal(err)
	}
	m.handlers = append(m.handlers, h)
}

// part removes a handler.
func (m *member[T]) part() {
	if len(m.handlers) == 0 {
		return
	}
	k := m.random.IntN(len(m.handlers))
	h := m.handlers[k]
	m.handlers = slices.Delete(m.handlers, k, k+1)
	m.left = append(m.left, h)
	h.reg.Remove()
}

// look reads a snapshot.
func (m *member[T]) look() {
	m.reads = append(m.reads, informertest.ReadSnapshot(m.inf.Snapshot(), content))
}

// settle waits until cache and handlers have come to resourceVersion.
func (m *member[T]) settle(ctx context.Context, server informertest.Server) error {
	version, err := informertest.Quiesce(ctx, server, m.inf)
	if err != nil {
		return fmt.Errorf("%w; %+v", err, m.inf.Status())
	}
	for _, h := range m.handlers {
		h.Settled(version)
	}
	m.look()
	return nil
}

// verify judges all traces.
func (m *member[T]) verify(history *informertest.History) error {
	view := history.Filter(m.match)
	var errs []error
	if err := informertest.Verify(view, m.reads, informertest.VerifyOptions{}); err != nil {
		errs = append(errs, fmt.Errorf("%s, reader: %w", m.name, err))
	}
	for _, h := range slices.Concat(m.handlers, m.left) {
		if err := informertest.Verify(view, h.Trace(), h.options); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", h.name, err))
		}
	}
	return errors.Join(errs...)
}
