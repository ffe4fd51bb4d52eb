package informer

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
)

func TestNewUIDUpdatesTellsOfAnotherUIDAsAnUpdate(t *testing.T) {
	for name, test := range map[string]diffCase{
		"an event": {
			base: viewOf(a1), deltas: deltas{delta(deltafifo.Updated, again)},
			want: []string{"update a:u1@1 -> a:u2@3"}, cache: viewOf(again),
		},
		"a replacement": {
			base: viewOf(a1), deltas: deltas{replaced("9", again)},
			want: []string{"update a:u1@1 -> a:u2@3"}, cache: viewOf(again),
		},
		"a deletion ends what has the key": {
			base: viewOf(a1), deltas: deltas{delta(deltafifo.Deleted, again)},
			want: []string{"delete a:u2@3 exact"}, cache: viewOf(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := differ[*thing]{newUID: true}
			out := d.diff(test.base, test.deltas, false)
			var got []string
			for _, n := range out.notices {
				got = append(got, n.String())
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("notices (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(test.cache, test.base.after(out)); diff != "" {
				t.Errorf("cache (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsEditedCanBeReadAndYieldsToTheServer(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		early := &recorder{}
		r.add(early)
		r.Edit(func(s *indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) {
			return []indexer.Change[*thing]{{Key: "a", Object: a1}, {Key: "b", Object: b1}}, "7"
		})
		if s := r.Snapshot(); s.Len() != 2 || s.ResourceVersion() != "7" {
			t.Fatalf("%d objects at %q, want 2 at 7", s.Len(), s.ResourceVersion())
		}
		late := &recorder{}
		r.add(late)
		r.from.set("c")
		r.start()
		r.expectCache()
		r.expect(late, "initial a:u1@1", "initial b:u3@1", "delete a:u1@1", "delete b:u3@1", "initial c:u1@2")
		if got := early.take(); len(got) != 3 {
			t.Errorf("the early handler was told %q, want two deletes of what it did not know, and c", got)
		}
	})
}

func TestAnEditThatFailsLeavesTheInformerToOthers(t *testing.T) {
	type edit = func(*indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string)
	for name, broken := range map[string]edit{
		"no function": nil,
		"a panic":     func(*indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) { panic("odd edit") },
		"an exit":     func(*indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) { runtime.Goexit(); return nil, "" },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
				over := make(chan struct{})
				go func() {
					defer close(over)
					defer func() { _ = recover() }()
					r.Edit(broken)
				}()
				<-over
				if len(r.writing) != 0 {
					t.Fatal("nobody can write any more")
				}
				if s := r.Snapshot(); s.Len() != 0 || s.ResourceVersion() != "" {
					t.Errorf("%d objects at %q, want nothing written", s.Len(), s.ResourceVersion())
				}
				r.from.set("a")
				r.start()
				r.expectCache()
			})
		})
	}
}

func TestAnIndexFunctionThatEndsTheGoroutineKeepsNoToken(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = r.AddIndex("broken", func(*thing) []string { runtime.Goexit(); return nil })
		}()
		<-over
		if len(r.writing) != 0 {
			t.Error("nobody can write any more")
		}
	})
}

func TestSyncedIsClosedByTheFirstListForGood(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		isSynced := func() bool {
			select {
			case <-r.Synced():
				return true
			default:
				return false
			}
		}
		if isSynced() {
			t.Error("synced before Run")
		}
		h := &recorder{check: func() string {
			if !isSynced() {
				return "called before the informer was synced"
			}
			return ""
		}}
		r.from.set("a")
		r.add(h)
		r.start()
		r.expect(h, "initial a:u1@2")
		r.stop()
		if !isSynced() {
			t.Error("no longer synced after the run")
		}
		r.start()
		r.expect(h)
	})
}

func TestEditsAndEventsLookForMutationsAtTheSameTime(t *testing.T) {
	bubble(t, Options[*thing]{DetectMutations: true}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		r.expectCache()
		entered, release := make(chan struct{}), make(chan struct{})
		edited := make(chan struct{})
		go func() {
			defer close(edited)
			r.Edit(func(s *indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) {
				close(entered)
				<-release
				return []indexer.Change[*thing]{{Key: "b", Object: b1}}, s.ResourceVersion()
			})
		}()
		<-entered
		r.from.set("c") // waits for the edit
		synctest.Wait()
		close(release)
		<-edited
		synctest.Wait()
		if n := r.Snapshot().Len(); n != 3 {
			t.Errorf("%d objects, want 3", n)
		}
	})
}

func TestAnEditWhileALoopIsFarBehindAStoppedInformerHarmsNothing(t *testing.T) {
	const behind = deepAfter + depthStep
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		told, release := 0, make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for event := range r.Events(t.Context()) {
				if event.Type == EventAdded {
					<-release
					told++
				}
			}
		}()
		synctest.Wait()
		r.outage(func() {
			for k := range behind {
				r.from.set(fmt.Sprint("k", k))
			}
		})
		time.Sleep(2 * deepAge)
		r.stop()
		r.Edit(func(s *indexer.Snapshot[*thing]) ([]indexer.Change[*thing], string) {
			return []indexer.Change[*thing]{{Key: "a", Object: a1}}, s.ResourceVersion()
		})
		close(release)
		<-done
		if told != behind {
			t.Errorf("the loop was told of %d objects, want %d", told, behind)
		}
	})
}
