package informer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tracer is a Handler that writes down its calls as notices.
//
// bubble: used in them only
type tracer struct {
	t     *testing.T
	rnd   *rand.Rand
	pause time.Duration
	panic bool // now and then
	reg   atomic.Pointer[Registration]
	trace []notice[*thing]
}

func (h *tracer) record(n notice[*thing]) {
	if reg := h.reg.Load(); reg != nil && closed(reg.Done()) {
		h.t.Error("called after Done")
	}
	if h.pause > 0 {
		time.Sleep(time.Duration(h.rnd.Int64N(int64(h.pause))))
	}
	h.trace = append(h.trace, n)
	if h.panic && h.rnd.IntN(20) == 0 {
		panic("now and then")
	}
}

func (h *tracer) OnAdd(obj *thing, initial bool) {
	h.record(notice[*thing]{kind: noticeAdd, obj: obj, initial: initial})
}
func (h *tracer) OnUpdate(old, obj *thing) {
	h.record(notice[*thing]{kind: noticeUpdate, old: old, obj: obj})
}
func (h *tracer) OnDelete(d Deleted[*thing]) {
	h.record(notice[*thing]{kind: noticeDelete, key: d.Key, obj: d.Last, exact: d.Exact})
}

// subject is a handler with options, beside one without any that was registered
// at the same moment, from whose calls follows what the first must have been told.
type subject struct {
	tracer
	name       string
	plain      *tracer
	filter     func(*thing) bool
	predicates []Predicate
	latest     bool
	removes    bool // itself, by a panic
}

// TestHandlersWithAnyOptionsAreToldWhatFollowsFromEveryChange compares handlers
// with random options with a dumb model.
func TestHandlersWithAnyOptionsAreToldWhatFollowsFromEveryChange(t *testing.T) {
	walks := 40
	if testing.Short() {
		walks = 10
	}
	for range walks {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { optionsWalk(t, seed) })
	}
}

func optionsWalk(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	options := Options[*thing]{MaxPending: rnd.IntN(3) * 4}
	bubble(t, options, func(t *testing.T, r *rig) {
		w := &walk{rig: r, rnd: rnd}
		subjects := []*subject{w.subject(), w.subject()}
		w.start()
		for k := range 300 {
			w.happen()
			if k%60 == 0 {
				subjects = append(subjects, w.subject())
			}
		}
		w.from.refuse(nil)
		version := w.from.set("last")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := w.Snapshot().ResourceVersion(); got != version {
			t.Fatalf("the cache is at %s, want %s", got, version)
		}
		w.stop() // some are in a resync
		for _, s := range subjects {
			s.verify(w)
		}
	})
}

// happen does one random thing.
//
// bubble: part of a walk
func (w *walk) happen() {
	key := string(rune('a' + w.rnd.IntN(6)))
	switch n := w.rnd.IntN(100); {
	case n < 50:
		w.from.edit(key, w.change())
	case n < 65:
		w.from.remove(key)
	case n < 85:
		time.Sleep(time.Duration(w.rnd.IntN(1000)) * time.Millisecond)
	case n < 88:
		w.from.cut()
	case n < 91:
		w.from.refuse(errors.New("connection refused"))
	case n < 95:
		w.from.compact()
		w.from.refuse(nil)
	case n < 97:
		w.busy(time.Duration(w.rnd.IntN(2000)) * time.Millisecond)
	case n < 98:
		w.stop()
		w.start()
	default:
		synctest.Wait()
	}
}

// change is a random one of an object.
func (w *walk) change() func(*thing) {
	switch w.rnd.IntN(5) {
	case 0:
		return func(obj *thing) { obj.Generation++ }
	case 1:
		return func(obj *thing) { obj.Annotations = map[string]string{"v": obj.ResourceVersion} }
	case 2:
		return labelled("no")
	case 3:
		return labelled("yes")
	}
	return func(*thing) {}
}

// subject adds a handler with random options.
func (w *walk) subject() *subject {
	s := &subject{tracer: tracer{t: w.t, rnd: rand.New(rand.NewPCG(w.rnd.Uint64(), 0))}, plain: &tracer{t: w.t}}
	var options []HandlerOption
	with := func(name string, option HandlerOption) {
		s.name += " " + name
		options = append(options, option)
	}
	if w.rnd.IntN(2) == 0 {
		s.pause = time.Duration(w.rnd.IntN(500)+1) * time.Millisecond
	}
	if w.rnd.IntN(2) == 0 {
		s.filter = isOn
		with("filter", WithFilter(isOn))
	}
	if w.rnd.IntN(3) == 0 {
		s.predicates = [][]Predicate{{GenerationChanged}, {LabelsChanged}, {AnnotationsChanged, LabelsChanged}}[w.rnd.IntN(3)]
		with("predicates", WithPredicates(s.predicates...))
	}
	if w.rnd.IntN(2) == 0 {
		with("resync", WithResync(time.Duration(w.rnd.IntN(20)+5)*time.Second))
	}
	if s.latest = w.rnd.IntN(2) == 0; s.latest {
		with("latest", WithLatestOnly())
	}
	if s.panic = w.rnd.IntN(3) == 0; s.panic {
		policy := PanicContinues
		if s.removes = w.rnd.IntN(3) == 0; s.removes {
			policy = PanicRemoves
		}
		with(policy.String(), WithPanicPolicy(policy))
	}
	w.writing <- struct{}{} // so that both start from the same snapshot
	defer func() { <-w.writing }()
	reg, err := w.AddHandler(s, options...)
	if err != nil {
		w.t.Fatal(err)
	}
	s.reg.Store(reg)
	if _, err = w.AddHandler(s.plain); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// verify compares all that s was told with what it must have been told.
func (s *subject) verify(w *walk) {
	problem := s.legal()
	removed := s.removes && closed(s.reg.Load().Done())
	if !s.latest && problem == "" {
		problem = s.follows(removed)
	}
	if !removed && problem == "" {
		problem = s.complete(w)
	}
	if problem != "" {
		text := ""
		for _, n := range s.trace[max(0, len(s.trace)-100):] {
			text += "\n\t" + n.String()
		}
		w.t.Errorf("handler with%s: %s; told:%s", s.name, problem, text)
	}
}

// known applies a call to what is known, and says what is illegal about it.
func (s *subject) apply(known map[string]*thing, n notice[*thing]) string {
	before := known[n.keyName()]
	switch n.kind {
	case noticeAdd:
		if before != nil {
			return "add of a known object"
		}
		known[n.keyName()] = n.obj
	case noticeUpdate:
		exactly := len(s.predicates) == 0
		switch {
		case before == nil || otherUID(before, n.obj):
			return "update of an unknown object"
		case n.old != before && (exactly || n.old.UID != before.UID):
			return "the old object is not the one told before"
		case n.old != n.obj && revision(n.obj) <= revision(n.old):
			return "the version goes back"
		}
		known[n.keyName()] = n.obj
	default:
		if before == nil || otherUID(before, n.obj) {
			return "delete of an unknown object"
		}
		delete(known, n.keyName())
	}
	if n.kind != noticeDelete && s.filter != nil && !s.filter(n.obj) {
		return "an object that the filter holds back"
	}
	return ""
}

func revision(obj *thing) int64 {
	version, _ := strconv.ParseInt(obj.ResourceVersion, 10, 64)
	return version
}

// legal says what is wrong with the trace in itself.
func (s *subject) legal() string {
	known := map[string]*thing{}
	for k, n := range s.trace {
		if problem := s.apply(known, n); problem != "" {
			return fmt.Sprintf("call %d, %s: %s", k, n, problem)
		}
	}
	return ""
}

// complete compares the end of the trace with the cache.
func (s *subject) complete(w *walk) string {
	want, got := map[string]*thing{}, map[string]*thing{}
	for key, obj := range w.Snapshot().All() {
		if s.filter == nil || s.filter(obj) {
			want[key] = obj
		}
	}
	for _, n := range s.trace {
		s.apply(got, n)
	}
	same := func(a, b *thing) bool { return a == b || len(s.predicates) > 0 && a.UID == b.UID }
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" || !maps.EqualFunc(want, got, same) {
		return "not the final state " + diff
	}
	reg := s.reg.Load()
	if reg.ResourceVersion() != w.Snapshot().ResourceVersion() || !closed(reg.Synced()) {
		return fmt.Sprintf("depth %d, synced %v, seen %s", reg.Depth(), closed(reg.Synced()), reg.ResourceVersion())
	}
	return ""
}

// expected is one call of the model; a silent one is not made, and one that
// leaves the filter may be exact or not, for the model does not know relists.
type expected struct {
	notice[*thing]
	silent, leaves bool
}

// model derives from the calls without options what s must be told: it remembers
// what s sees, instead of asking the filter about the past.
func (s *subject) model() []expected {
	var calls []expected
	sees := map[string]bool{}
	for _, n := range s.plain.trace {
		key := n.keyName()
		was, is := sees[key], n.kind != noticeDelete && (s.filter == nil || s.filter(n.obj))
		sees[key] = is
		switch {
		case was && is:
			interesting := len(s.predicates) == 0
			for _, changed := range s.predicates {
				interesting = interesting || changed(n.old, n.obj)
			}
			calls = append(calls, expected{notice: n, silent: !interesting})
		case is:
			calls = append(calls, expected{notice: notice[*thing]{kind: noticeAdd, obj: n.obj, initial: n.initial}})
		case was && n.kind == noticeDelete:
			calls = append(calls, expected{notice: n})
		case was:
			calls = append(calls, expected{notice: notice[*thing]{kind: noticeDelete, key: key, obj: n.old}, leaves: true})
		}
	}
	return calls
}

// follows compares the trace with the model, in which resyncs have no place but
// must repeat what was told last.
func (s *subject) follows(removed bool) string {
	calls, known := s.model(), map[string]*thing{}
	next := func() notice[*thing] {
		n := calls[0].notice
		calls = calls[1:]
		s.apply(known, n)
		return n
	}
	for k, n := range s.trace {
		if n.kind == noticeUpdate && n.old == n.obj {
			for len(calls) > 0 && calls[0].silent && known[n.keyName()] != n.obj {
				next()
			}
			if known[n.keyName()] != n.obj {
				return fmt.Sprintf("call %d, %s, repeats what was not told", k, n)
			}
			continue
		}
		for len(calls) > 0 && calls[0].silent {
			next()
		}
		if len(calls) == 0 {
			return fmt.Sprintf("call %d, %s, is too many", k, n)
		}
		leaves := calls[0].leaves
		want := next()
		want.exact = want.exact || leaves && n.exact
		if want.String() != n.String() {
			return fmt.Sprintf("call %d is %s, want %s", k, n, want)
		}
	}
	for _, call := range calls {
		if !call.silent && !removed {
			return fmt.Sprintf("%s is missing", call.notice)
		}
	}
	return ""
}
