package endtoend_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
	"github.com/listwatch/listwatch/informer/informertest"
)

// secrets is a second collection, and what is written to it.
type secrets struct {
	*ground
	random  *rand.Rand
	exists  map[string]bool // by name
	history *informertest.History
}

func (w *walk) newSecrets() *secrets {
	s := &secrets{ground: w.ground, random: w.random, exists: map[string]bool{}, history: informertest.NewHistory(w.at(), content)}
	follow := w.into(s.history, w.writer.Secrets(""))
	w.t.Cleanup(follow.end)
	return s
}

// write creates, changes or deletes a Secret.
func (s *secrets) write() {
	name, ctx := fmt.Sprint("s", s.random.IntN(3)), s.t.Context()
	client := s.writer.Secrets("a")
	obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: name, Annotations: map[string]string{"content": strconv.FormatUint(s.random.Uint64(), 36)},
	}}
	var err error
	switch {
	case !s.exists[name]:
		_, err = client.Create(ctx, obj, metav1.CreateOptions{})
	case s.random.IntN(4) == 0:
		err = client.Delete(ctx, name, metav1.DeleteOptions{})
		delete(s.exists, name)
		name = ""
	default:
		_, err = client.Update(ctx, obj, metav1.UpdateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.exists[name] = true
}

type (
	configMapObject = *corev1.ConfigMap
	metaObject      = *metav1.PartialObjectMetadata
)

// factoryMember is the informers that a factory makes of ConfigMaps, of which it has
// two views, and of Secrets, with those who read them together.
//
// bubble: made in one
type factoryMember struct {
	membership
	factory *factory.Factory
	base    *informer.Informer[configMapObject]
	metas   *factory.View[metaObject]
	kept    *informer.Informer[*corev1.Secret]
	secrets *secrets
	running bool
	// takeSecrets is the moment to read Secrets in: the one at hand, unless a test
	// plants a fault.
	takeSecrets func(*informer.Moment) *informer.Moment

	hears      audience[configMapObject] // the informer
	views      audience[metaObject]      // its view
	reads      []informertest.Entry      // of ConfigMaps, by whatever way
	secretives []informertest.Entry

	mu      sync.Mutex // guards moments, which handlers take, too
	moments []informertest.Instant
}

// newFactory makes informers of a factory, over some namespaces.
func (w *walk) newFactory() participant {
	wire := newWeather(w.random.Uint64())
	w.secrets = w.newSecrets()
	m := &factoryMember{secrets: w.secrets, takeSecrets: func(m *informer.Moment) *informer.Moment { return m }, membership: membership{
		t: w.t, weather: wire, random: rand.New(rand.NewPCG(w.random.Uint64(), 2)), match: everything,
	}}
	s := selection{}
	var options []factory.Option
	switch m.random.IntN(4) {
	case 0:
		options = append(options, factory.WithNamespaces("a", "b"))
		m.parts = []func(metav1.Object) bool{selection{namespace: "a"}.match, selection{namespace: "b"}.match}
	case 1:
		s.namespace = "b"
		options = append(options, factory.WithNamespaces("b"))
	case 2:
		s.x = "1"
		options = append(options, factory.WithLabels(s.labels()))
	}
	m.match = s.match
	m.name = fmt.Sprintf("factory (%+v, %d parts)", s, len(m.parts))
	var err error
	m.factory, err = factory.New(w.config(wire.over), factory.Options{Reflector: randomOptions[configMapObject](m.random).Reflector})
	m.must(err)
	m.base, err = factory.For[configMapObject](m.factory, options...)
	m.must(err)
	m.metas, err = factory.Metadata(m.factory, configMaps, options...)
	m.must(err)
	m.kept, err = factory.For[*corev1.Secret](m.factory)
	m.must(err)
	m.listen()
	return m
}

func (m *factoryMember) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// listen makes the audiences, and adds handlers that take moments when one of the
// collections has changed and the other perhaps not yet.
func (m *factoryMember) listen() {
	counts := map[string]int{}
	m.hears = audience[configMapObject]{t: m.t, name: m.name, random: m.random, parts: m.parts, to: m.base, counts: counts,
		read: func() informertest.Entry { return informertest.ReadSnapshot(m.base.Snapshot(), content) }}
	m.views = audience[metaObject]{t: m.t, name: m.name + ", view", random: m.random, parts: m.parts, to: m.metas, counts: counts,
		read: func() informertest.Entry { return informertest.ReadSnapshot(m.metas.Snapshot(), content) }}
	_, err := m.base.AddHandler(informer.HandlerFuncs[configMapObject]{UpdateFunc: func(_, _ configMapObject) { m.moment() }})
	m.must(err)
	_, err = m.kept.AddHandler(informer.HandlerFuncs[*corev1.Secret]{UpdateFunc: func(_, _ *corev1.Secret) { m.moment() }})
	m.must(err)
}

// moment takes a snapshot of both collections, and returns what it has of each.
func (m *factoryMember) moment() (maps, secrets informertest.Entry) {
	moment := m.factory.Snapshot()
	viewed, _ := m.metas.SnapshotIn(moment)
	maps = informertest.ReadSnapshot(viewed, content)
	secrets = informertest.ReadSnapshot(m.kept.SnapshotIn(m.takeSecrets(moment)), content)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moments = append(m.moments, informertest.Instant{"configmaps": maps.ResourceVersion, "secrets": secrets.ResourceVersion})
	return maps, secrets
}

// look reads in every way, one after the other: none may be behind the one before.
func (m *factoryMember) look() {
	m.reads = append(m.reads, m.hears.read(), m.views.read())
	m.secretives = append(m.secretives, informertest.ReadSnapshot(m.kept.Snapshot(), content))
	maps, secrets := m.moment()
	m.reads = append(m.reads, maps, m.hears.read())
	m.secretives = append(m.secretives, secrets)
	before := m.base.Snapshot()
	found, err := m.metas.Lister().List(labels.Everything())
	m.must(err)
	if m.base.Snapshot() == before {
		m.hears.counts["lister"]++
		e := informertest.ReadSnapshot(before, content)
		clear(e.Objects)
		for _, obj := range found {
			e.Objects[informertest.KeyOf(obj)] = informertest.VersionOf(obj, content)
		}
		m.reads = append(m.reads, e)
	}
}

func (m *factoryMember) describe() string { return m.name }

func (m *factoryMember) wire() *weather { return m.weather }

func (m *factoryMember) tally(into map[string]int) {
	into["view"]++
	into["moment"] += len(m.moments)
	into["relist"] += relists(m.base.Status()) + relists(m.kept.Status())
	for what, n := range maps.All(m.hears.counts) {
		into[what] += n
	}
}

func (m *factoryMember) start() {
	if m.running {
		return
	}
	m.running = true
	ctx, cancel := m.quiet()
	m.factory.Start(ctx)
	m.t.Cleanup(cancel)
}

func (m *factoryMember) stop() {
	if !m.running {
		return
	}
	m.running = false
	m.factory.Shutdown()
	m.hears.ended(m.base.Snapshot().ResourceVersion())
}

// lease keeps one of the informers running while the factory stops and starts again.
func (m *factoryMember) lease() {
	if !m.running {
		return
	}
	m.hears.counts["lease"]++
	ctx, cancel := m.quiet()
	defer cancel()
	lease, err := m.base.Acquire(ctx)
	m.must(err)
	m.factory.Shutdown()
	again, stop := m.quiet()
	m.t.Cleanup(stop)
	m.factory.Start(again)
	lease.Release()
	select {
	case <-lease.Done():
		m.t.Errorf("%s: a run has ended that a lease and the factory held: %v", m.name, lease.Err())
	default:
	}
}

func (m *factoryMember) join() {
	if m.random.IntN(2) == 0 {
		m.hears.join()
	} else {
		m.views.join()
	}
}

func (m *factoryMember) loop() {
	if m.running {
		m.hears.loop(m.base)
	}
}

func (m *factoryMember) part() {
	if m.random.IntN(2) == 0 {
		m.hears.part()
	} else {
		m.views.part()
	}
}

func (m *factoryMember) relist() {
	m.base.Relist()
	m.kept.Relist()
}

func (m *factoryMember) settle(ctx context.Context, server informertest.Server) error {
	version, err := informertest.Quiesce(ctx, server, m.base, m.kept)
	if err != nil {
		return fmt.Errorf("%w; %+v", err, m.factory.Status())
	}
	m.hears.settled(version)
	m.views.settled(version)
	m.look()
	at, err := strconv.ParseUint(version, 10, 64)
	m.must(err)
	return m.secrets.history.WaitFor(ctx, at)
}

func (m *factoryMember) verify(history *informertest.History) error {
	view := m.view(history)
	var errs []error
	if err := informertest.Verify(view, m.reads, informertest.VerifyOptions{Parts: m.parts}); err != nil {
		errs = append(errs, fmt.Errorf("%s, reader: %w", m.name, err))
	}
	if err := informertest.Verify(m.secrets.history, m.secretives, informertest.VerifyOptions{}); err != nil {
		errs = append(errs, fmt.Errorf("%s, reader of secrets: %w", m.name, err))
	}
	if err := informertest.VerifyMoments(m.moments); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
	}
	return errors.Join(append(errs, m.hears.verify(view), m.views.verify(view))...)
}
