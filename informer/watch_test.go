package informer

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/indexer"
)

var byLength = indexer.NewIndex("length", func(obj *thing) []int { return []int{len(obj.Name)} })

func TestAWatcherSeesTheLastStateOfWhatItWatches(t *testing.T) {
	bubble(t, Options[*thing]{Defined: []indexer.Definition[*thing]{byLength}}, func(t *testing.T, r *rig) {
		last := make(chan string)
		for _, query := range []indexer.Query{indexer.Key("ns/watched"), indexer.Namespace("ns"), byLength.Is(7)} {
			go func() {
				want := ""
				for {
					s := r.Snapshot()
					if obj, ok := s.Get("ns/watched"); ok && obj.Labels["last"] != "" {
						want = obj.ResourceVersion
						break
					}
					w, err := r.Watch(s, query)
					if err != nil {
						t.Error(err)
						break
					}
					<-w.Changed()
					if r.Snapshot() == s {
						t.Error("told before the change can be seen")
					}
				}
				last <- want
			}()
		}
		r.start()
		for range 100 {
			r.from.set("ns/watched")
			r.from.set("other/object")
		}
		want := r.from.edit("ns/watched", func(obj *thing) { obj.Labels = map[string]string{"last": "yes"} })
		for range 3 {
			if got := <-last; got != want {
				t.Errorf("a watcher ended at %q, want %q", got, want)
			}
		}
	})
}

func TestAWatchIsNotClosedByWhatItIsNotAbout(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("ns/a")
		r.start()
		synctest.Wait()
		w, err := r.Watch(r.Snapshot(), indexer.Key("ns/a"), indexer.Prefix("nt"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		r.from.set("ns/b")
		synctest.Wait()
		select {
		case <-w.Changed():
			t.Error("closed")
		default:
		}
		r.from.remove("ns/a")
		<-w.Changed()
	})
}

func TestDefinedIndexesAreInSnapshotsFromThenOn(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("ns/abc")
		r.start()
		synctest.Wait()
		if _, err := r.Watch(r.Snapshot(), byLength.Is(3)); !errors.Is(err, indexer.ErrUnknownIndex) {
			t.Errorf("Watch = %v", err)
		}
		if err := r.Define(byLength); err != nil {
			t.Fatal(err)
		}
		if err := r.Define(byLength); !errors.Is(err, indexer.ErrIndexExists) {
			t.Errorf("Define = %v", err)
		}
		r.from.set("ns/xyz")
		synctest.Wait()
		var keys []string
		for key := range byLength.Objects(r.Snapshot(), 3) {
			keys = append(keys, key)
		}
		if !slices.Equal(keys, []string{"ns/abc", "ns/xyz"}) {
			t.Errorf("found %q", keys)
		}
	})
}
