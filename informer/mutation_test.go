package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

// mutations collects what a detector reports.
type mutations struct {
	mu  sync.Mutex
	all []*Mutation
}

func (m *mutations) report(found *Mutation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, found)
}

// take returns "key fields by handlers, found", without sites, since the last time.
func (m *mutations) take() (texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, found := range m.all {
		text := found.Key + " " + strings.Join(found.Fields, ",")
		for _, h := range found.Handlers {
			name, _, _ := strings.Cut(h, " ")
			text += " by " + name
		}
		texts = append(texts, text+", "+found.Found)
	}
	m.all = nil
	return texts
}

func (m *mutations) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, m.take()); diff != "" {
		t.Errorf("mutations (-want +got):\n%s", diff)
	}
}

// options are those of an informer that reports to m.
func (m *mutations) options() Options[*thing] {
	return Options[*thing]{Name: "things", DetectMutations: true, OnMutation: m.report}
}

func TestAHandlerThatModifiesAnObjectIsNamed(t *testing.T) {
	m := &mutations{}
	bubble(t, m.options(), func(t *testing.T, r *rig) {
		label := func(obj *thing, name string) {
			obj.Labels = map[string]string{name: "x"}
		}
		_, err := r.AddHandler(HandlerFuncs[*thing]{
			AddFunc: func(obj *thing, initial bool) {
				if strings.HasPrefix(obj.Name, "add") {
					label(obj, "added")
				}
			},
			UpdateFunc: func(old, obj *thing) {
				if obj.Name == "old" {
					label(old, "updated")
				} else {
					label(obj, "updated")
				}
			},
			DeleteFunc: func(d Deleted[*thing]) { label(d.Last, "deleted") },
		}, WithName("culprit"))
		if err != nil {
			t.Fatal(err)
		}
		r.from.set("add-first")
		r.start()
		m.expect(t, "add-first metadata.labels by culprit, after a call")
		r.from.set("add-later")
		m.expect(t, "add-later metadata.labels by culprit, after a call")
		r.from.set("b")
		m.expect(t)
		r.from.set("b")
		m.expect(t, "b metadata.labels by culprit, after a call")
		r.from.set("old")
		r.from.set("old")
		m.expect(t, "old metadata.labels by culprit, after a call")
		r.from.remove("old")
		m.expect(t, "old metadata.labels by culprit, after a call")
	})
}

func TestALoopOverEventsThatModifiesAnObjectIsNamed(t *testing.T) {
	m := &mutations{}
	bubble(t, m.options(), func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		for event := range r.Events(t.Context(), WithName("loop")) {
			if event.Type == EventAdded {
				event.Object.Generation = 7
				break
			}
		}
		m.expect(t, "a metadata.generation by loop, after a call")
	})
}

func TestTheReportNamesKeyFieldAndSite(t *testing.T) {
	m := &Mutation{Informer: "pods", Key: "web/a", ResourceVersion: "5", Fields: []string{"spec.nodeName"}, Found: "after a call"}
	for _, handlers := range [][]string{nil, {"x (a.go:1)"}} {
		m.Handlers = handlers
		for _, part := range append(slices.Clone(handlers), `"pods"`, "web/a", `"5"`, "spec.nodeName", "after a call") {
			if !strings.Contains(m.Error(), part) {
				t.Errorf("%q is missing in: %v", part, m)
			}
		}
	}
}

func TestAReaderOfTheSnapshotThatModifiesAnObjectIsFound(t *testing.T) {
	m := &mutations{}
	bubble(t, m.options(), func(t *testing.T, r *rig) {
		modify := func(key string) {
			obj, found := r.Snapshot().Get(key)
			if !found {
				t.Fatalf("no %s", key)
			}
			obj.Finalizers = append(obj.Finalizers, "x")
		}
		for _, key := range []string{"updated", "deleted", "regular", "end"} {
			r.from.set(key)
		}
		r.start()
		modify("updated")
		r.from.set("updated")
		m.expect(t, "updated metadata.finalizers, on leaving the cache")
		modify("deleted")
		r.from.remove("deleted")
		m.expect(t, "deleted metadata.finalizers, on leaving the cache")
		modify("regular")
		time.Sleep(2 * checkPeriod)
		m.expect(t) // nothing arrived, nothing was looked at
		r.from.set("other")
		m.expect(t, "regular metadata.finalizers, at a regular check")
		r.from.set("regular")
		m.expect(t) // once is enough
		modify("end")
		r.stop()
		m.expect(t, "end metadata.finalizers, at the end of Run")
	})
}

func TestAllWhoMayHaveDoneItAreNamed(t *testing.T) {
	m := &mutations{}
	bubble(t, m.options(), func(t *testing.T, r *rig) {
		modified, goOn := make(chan struct{}), make(chan struct{})
		_, err := r.AddHandler(HandlerFuncs[*thing]{AddFunc: func(obj *thing, _ bool) {
			if obj.Name == "b" {
				obj.Generation = 7
				close(modified)
				<-goOn
			}
		}}, WithName("culprit"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.AddHandler(HandlerFuncs[*thing]{AddFunc: func(obj *thing, _ bool) {
			if obj.Name == "a" {
				<-modified
			}
		}}, WithName("innocent"))
		if err != nil {
			t.Fatal(err)
		}
		r.from.set("a")
		r.from.set("b")
		r.start()
		m.expect(t, "b metadata.generation by culprit, before a call")
		close(goOn)
		m.expect(t)
	})
}

// vandal modifies an object now and then, and keeps a record.
type vandal struct {
	mu       sync.Mutex
	random   *rand.Rand
	modified map[*thing]string
}

func (v *vandal) modify(obj *thing, who string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.random.IntN(5) > 0 || v.modified[obj] != "" {
		return
	}
	v.modified[obj] = fmt.Sprintf("%s@%s by %s", obj.Name, obj.ResourceVersion, who)
	switch v.random.IntN(3) {
	case 0:
		obj.Annotations = map[string]string{"a": "b"}
	case 1:
		obj.Generation++
	default:
		obj.Finalizers = append(obj.Finalizers, "f")
	}
}

func (v *vandal) OnAdd(obj *thing, _ bool)   { v.modify(obj, "handler") }
func (v *vandal) OnUpdate(old, obj *thing)   { v.modify(old, "handler"); v.modify(obj, "handler") }
func (v *vandal) OnDelete(d Deleted[*thing]) { v.modify(d.Last, "handler") }

// Random walk: some objects are modified by a handler, some by a reader.
func TestTheDetectorFindsExactlyWhatWasModified(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		v := &vandal{random: rand.New(rand.NewPCG(seed, 2)), modified: map[*thing]string{}}
		m := &mutations{}
		bubble(t, m.options(), func(t *testing.T, r *rig) {
			r.add(v)
			r.start()
			for range 60 {
				key := fmt.Sprint("o", random.IntN(6))
				switch random.IntN(8) {
				case 0:
					r.from.remove(key)
				case 1:
					r.from.compact()
					r.from.cut()
				case 2:
					time.Sleep(time.Minute)
				default:
					r.from.set(key)
				}
				synctest.Wait()
				if obj, found := r.Snapshot().Get(key); found {
					v.modify(obj, "reader")
				}
				r.from.newest() // for the race detector: what follows comes after it
			}
			r.stop()
			if diff := cmp.Diff(slices.Sorted(maps.Values(v.modified)), m.culprits()); diff != "" {
				t.Errorf("seed %d (-want +got):\n%s", seed, diff)
			}
		})
	}
}

// culprits returns "key@version by handler" or "… by reader" of all, sorted.
func (m *mutations) culprits() (texts []string) {
	for _, found := range m.all {
		who := "reader"
		if len(found.Handlers) > 0 {
			who = "handler"
		}
		texts = append(texts, fmt.Sprintf("%s@%s by %s", found.Key, found.ResourceVersion, who))
	}
	slices.Sort(texts)
	return texts
}

func TestTheDetectorForgetsWhatIsGarbage(t *testing.T) {
	m := &mutations{}
	bubble(t, m.options(), func(t *testing.T, r *rig) {
		r.start()
		for range 200 {
			r.from.set("a")
			synctest.Wait()
		}
		guards := func() int {
			r.detector.mu.Lock()
			defer r.detector.mu.Unlock()
			return len(r.detector.guards)
		}
		if guards() == 0 {
			t.Error("nothing is guarded")
		}
		for k := 0; guards() >= 20; k++ { // cleanups run some time after a collection
			if k == 10_000 {
				t.Fatalf("%d objects are guarded, and one exists", guards())
			}
			runtime.GC()
			runtime.Gosched()
		}
	})
}

// uncopyable has something that its DeepCopyObject, that of thing, leaves out.
func TestWhatCannotBeCopiedIsLeftAlone(t *testing.T) {
	d := &detector[*thing]{report: func(m *Mutation) { t.Error(m) }, guards: map[uintptr]*guard[*thing]{}}
	var none *thing
	d.add("a", none)
	if _, ok := deepCopy(none); ok && none != nil {
		t.Error("nothing was copied")
	}
	if len(d.guards) > 0 {
		t.Errorf("%d guards", len(d.guards))
	}
}

func TestWithoutACallbackAMutationPanics(t *testing.T) {
	t.Setenv(detectMutationsVariable, "1")
	d := newDetector(&Options[*thing]{Name: "things"})
	obj := newThing("a", "u", 1)
	d.add("a", obj)
	obj.Generation = 5
	defer func() {
		err, _ := recover().(error)
		m, ok := errors.AsType[*Mutation](err)
		if !ok || m.Informer != "things" || m.Key != "a" {
			t.Errorf("panicked with %v", err)
		}
	}()
	d.end()
	t.Error("no panic")
}

func TestTheDetectorIsOnInTests(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	if inf.detector == nil {
		t.Error("it is off")
	}
}

func TestTheDetectorIsOffUnlessAskedFor(t *testing.T) {
	t.Setenv(detectMutationsVariable, "")
	if d := newDetector(&Options[*thing]{}); d != nil {
		t.Error("it is on")
	}
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	h := &recorder{}
	if got := inf.guard(h, nil); got != Handler[*thing](h) {
		t.Errorf("calls go through %T", got)
	}
}

func TestAMutationFoundAtTheEndLeavesAnInformerThatHasEnded(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		panicked := make(chan any)
		go func() {
			defer func() { panicked <- recover() }()
			_ = r.Run(ctx)
		}()
		synctest.Wait()
		obj, _ := r.Snapshot().Get("a")
		obj.Generation = 7
		cancel()
		if _, ok := (<-panicked).(*Mutation); !ok {
			t.Error("no panic with a *Mutation")
		}
		if err := r.WaitForSync(context.Background()); !errors.Is(err, ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
		r.start() // again
	})
}
