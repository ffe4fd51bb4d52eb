package endtoend_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/informertest"
)

// participant is one informer of a walk, of whatever type, or several of one
// factory.
type participant interface {
	describe() string
	start()
	stop()
	lease() // takes another lease, or gives one back
	join()
	loop()
	part()
	relist()
	look()
	settle(ctx context.Context, server informertest.Server) error
	verify(history *informertest.History) error
	wire() *weather
	tally(into map[string]int)
}

// membership is what a member is made of.
type membership struct {
	t       *testing.T
	name    string
	weather *weather
	random  *rand.Rand
	match   func(metav1.Object) bool   // what its source selects
	parts   []func(metav1.Object) bool // what the parts of a joined informer select
	mapped  bool                       // by change
	leased  bool                       // it is run by leases
}

// view is the history of what the informer caches.
func (m *membership) view(history *informertest.History) *informertest.History {
	if len(m.parts) == 0 {
		history = history.Filter(m.match)
	}
	if m.mapped {
		history = history.Map(image)
	}
	return history
}

// member is a participant over objects of type T, with handlers and loops that come
// and go and a reader.
//
// bubble: made in one
type member[T informer.Object] struct {
	membership
	hears  audience[T]
	inf    *informer.Informer[T]
	cancel context.CancelFunc // nil: it does not run
	over   chan error
	leases []*informer.Lease
	ran    bool
	reads  []informertest.Entry
}

// content is what the writers put where all types of objects have it.
func content(obj metav1.Object) string { return obj.GetAnnotations()["content"] }

// dropped says which objects members with a transform do not cache.
func dropped(obj metav1.Object) bool { return obj.GetLabels()["y"] == "0" }

// changed are the annotations that members with a transform cache.
func changed(obj metav1.Object) map[string]string {
	return map[string]string{"content": "changed " + content(obj)}
}

// alter is a transform, which modifies what it is given.
func alter[T informer.Object](obj T) (T, error) {
	if dropped(obj) {
		return obj, informer.ErrDrop
	}
	obj.SetAnnotations(changed(obj))
	return obj, nil
}

// image is what alter makes of an object.
func image(obj metav1.Object) (metav1.Object, bool) {
	out := &metav1.ObjectMeta{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		Labels: obj.GetLabels(), Annotations: changed(obj),
	}
	return out, !dropped(obj)
}

// newMember makes one of an informer, which create makes of options.
func newMember[T informer.Object](place membership, create func(informer.Options[T]) (*informer.Informer[T], error), options informer.Options[T]) *member[T] {
	options.Name = place.name
	inf, err := create(options)
	if err != nil {
		place.t.Fatal(err)
	}
	m := &member[T]{membership: place, inf: inf}
	m.hears = audience[T]{
		t: place.t, name: place.name, random: place.random, parts: place.parts, to: inf, counts: map[string]int{},
		read: func() informertest.Entry { return informertest.ReadSnapshot(inf.Snapshot(), content) },
	}
	return m
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

// tally adds what happened to it. Of complete lists the first does not count.
func (m *member[T]) tally(into map[string]int) {
	into["relist"] += relists(m.inf.Status())
	for _, part := range m.inf.Status().Parts {
		into["rewind"] += int(part.Reflector.Rewinds)
	}
	for what, n := range maps.All(m.hears.counts) {
		into[what] += n
	}
}

// relists counts complete lists but the first of each part.
func relists(status informer.Status) int {
	n := 0
	for _, part := range status.Parts {
		n--
		for _, count := range part.Reflector.Relists {
			n += int(count)
		}
	}
	return max(n, 0)
}

// quiet is a context for runs: the weather is no news.
func (m *membership) quiet() (context.Context, context.CancelFunc) {
	return context.WithCancel(klog.NewContext(m.t.Context(), logr.Discard()))
}

func (m *member[T]) start() {
	m.ran = true
	if m.leased {
		if len(m.leases) == 0 {
			m.acquire()
		}
		return
	}
	if m.cancel != nil {
		return
	}
	ctx, cancel := m.quiet()
	ended := make(chan error, 1)
	m.cancel, m.over = cancel, ended
	go func() { ended <- m.inf.Run(ctx) }()
}

func (m *member[T]) stop() {
	switch {
	case len(m.leases) > 0:
		for _, lease := range m.leases {
			lease.Release()
		}
		if err := m.leases[0].Close(); err != nil {
			m.t.Errorf("%s: lease: %v", m.describe(), err)
		}
		for _, lease := range m.leases { // the run is over for all of them
			<-lease.Done()
		}
		m.leases = nil
	case m.cancel != nil:
		m.cancel()
		if err := <-m.over; err != nil {
			m.t.Errorf("%s: Run: %v", m.describe(), err)
		}
		m.cancel = nil
	default:
		return
	}
	m.hears.ended(m.reached())
}

// reached is the version up to which the cache has everything, "" if there is none: what
// moved from one part to another may be in neither while they are at different versions.
func (m *member[T]) reached() string {
	version := m.inf.Snapshot().ResourceVersion()
	if parts := m.inf.Status().Parts; len(parts) > 1 {
		for _, part := range parts {
			if part.Reflector.ResourceVersion != version {
				return ""
			}
		}
	}
	return version
}

// acquire takes a lease, the first of which starts the informer.
func (m *member[T]) acquire() {
	ctx, cancel := m.quiet()
	defer cancel()
	lease, err := m.inf.Acquire(ctx)
	if err != nil {
		m.t.Fatal(err)
	}
	m.leases = append(m.leases, lease)
}

// lease takes another lease, or gives one back that is not the last; or it gives
// back all and takes one at once, whose run begins when that of the others has ended.
func (m *member[T]) lease() {
	if len(m.leases) == 0 {
		return
	}
	m.hears.counts["lease"]++
	switch m.random.IntN(4) {
	case 0:
		m.acquire()
	case 1:
		if len(m.leases) > 1 {
			m.leases[0].Release()
			m.leases = m.leases[1:]
		}
	default:
		for _, lease := range m.leases {
			lease.Release()
		}
		old := m.leases[0]
		m.leases = nil
		m.acquire()
		<-old.Done()
		m.hears.counts["lease at once"]++
		m.hears.ended("") // by then the cache may be further
	}
}

func (m *member[T]) join() { m.hears.join() }

func (m *member[T]) part() { m.hears.part() }

// loop ranges over events. If the informer is stopped that is over at once.
func (m *member[T]) loop() {
	synctest.Wait() // until a run that was started has begun
	m.hears.loop(m.inf)
	if m.ran && m.cancel == nil && len(m.leases) == 0 {
		m.hears.ended(m.reached())
	}
}

func (m *member[T]) relist() { m.inf.Relist() }

// look reads a snapshot.
func (m *member[T]) look() { m.reads = append(m.reads, m.hears.read()) }

// settle waits until cache and handlers have come to resourceVersion.
func (m *member[T]) settle(ctx context.Context, server informertest.Server) error {
	version, err := informertest.Quiesce(ctx, server, m.inf)
	if err != nil {
		return fmt.Errorf("%w; %+v", err, m.inf.Status())
	}
	m.hears.settled(version)
	m.look()
	return nil
}

// verify judges all traces.
func (m *member[T]) verify(history *informertest.History) error {
	view := m.view(history)
	err := informertest.Verify(view, m.reads, informertest.VerifyOptions{Parts: m.parts})
	if err != nil {
		err = fmt.Errorf("%s, reader: %w", m.name, err)
	}
	return errors.Join(err, m.hears.verify(view))
}
