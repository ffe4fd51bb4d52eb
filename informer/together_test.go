package informer

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/indexer"
)

// chain is a number of informers that are written to one after the other, always
// in the same order: at each instant a former one is as new as the next, or one
// version ahead.
type chain []*Informer[*thing]

func newChain(t *testing.T, length int) (c chain) {
	for range length {
		inf, err := New(newCollection(), Options[*thing]{})
		if err != nil {
			t.Fatal(err)
		}
		c = append(c, inf)
	}
	return c
}

func (c chain) members() (members []Member) {
	for _, inf := range c {
		members = append(members, inf)
	}
	return members
}

// write makes version the newest of all, as an apply loop would.
func (c chain) write(version int64) {
	for _, inf := range c {
		inf.writing <- struct{}{}
		inf.index.Apply([]indexer.Change[*thing]{{Key: "a", Object: newThing("a", "u", version)}}, fmt.Sprint(version))
		<-inf.writing
	}
}

// versionOf is 0 for a snapshot before the first version.
func versionOf(s *indexer.Snapshot[*thing]) int64 {
	version, _ := strconv.ParseInt(s.ResourceVersion(), 10, 64)
	return version
}

// broken says how a Moment of the chain could not have been.
func (c chain) broken(m *Moment) string {
	at := func(k int) int64 { return versionOf(c[k].SnapshotIn(m)) }
	for k := range c {
		if k > 0 && at(k) > at(k-1) || at(k) < at(0)-1 {
			var all []int64
			for k := range c {
				all = append(all, at(k))
			}
			return fmt.Sprint(all)
		}
	}
	return ""
}

// slow is a member that writers overtake while it is looked at.
type slow struct{ *Informer[*thing] }

func (s slow) newest() any {
	defer runtime.Gosched()
	return s.Informer.newest()
}

// takeSlowly is Together with slow looks.
func takeSlowly(members []Member) *Moment {
	var all []Member
	for _, m := range members {
		all = append(all, slow{m.(*Informer[*thing])})
	}
	m := Together(all...)
	for _, one := range all {
		m.snapshots[one.(slow).Informer] = m.snapshots[one]
	}
	return m
}

func TestSnapshotsTakenTogetherWereTheNewestAtOneMoment(t *testing.T) {
	for _, way := range []struct {
		name string
		take func([]Member) *Moment
	}{
		{"without waiting", takeSlowly},
		{"while writers wait", func(members []Member) *Moment { return momentOf(members, holdStill(members)) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			c := newChain(t, 5)
			stop := make(chan struct{})
			var writing, reading sync.WaitGroup
			writing.Go(func() {
				for version := int64(1); ; version++ {
					select {
					case <-stop:
						return
					default:
						c.write(version)
						runtime.Gosched() // on one processor, it would write 10 ms for each step of a reader
					}
				}
			})
			for range 4 {
				reading.Go(func() {
					var last int64
					for range 500 {
						m := way.take(c.members())
						if wrong := c.broken(m); wrong != "" {
							t.Errorf("never at one moment: %v", wrong)
							return
						}
						version := versionOf(c[0].SnapshotIn(m))
						if version < last {
							t.Errorf("went back from %d to %d", last, version)
						}
						last = version
					}
				})
			}
			reading.Wait()
			close(stop)
			writing.Wait()
		})
	}
}

func TestLooksOneAfterTheOtherAreNoMoment(t *testing.T) {
	// The check of the test above: what a naive reader sees is told apart.
	c := newChain(t, 3)
	c.write(1)
	snapshots := make([]any, 3)
	snapshots[0] = c[0].newest()
	c.write(2)
	c.write(3)
	look(c.members()[1:], snapshots[1:])
	if c.broken(momentOf(c.members(), snapshots)) == "" {
		t.Error("versions 1, 3, 3 pass for one moment")
	}
}

func TestTogetherTakesAnInformerNamedTwiceOnce(t *testing.T) {
	c := newChain(t, 2)
	c.write(1)
	twice := append(c.members(), c.members()...)
	m := Together(twice...)
	if got := c[1].SnapshotIn(m); got != c[1].Snapshot() {
		t.Errorf("got %v", got)
	}
	other := newChain(t, 1)[0]
	if got := other.SnapshotIn(m); got != nil {
		t.Errorf("snapshot of an informer that is not in it: %v", got)
	}
}

func TestTogetherWaitsForWhoeverWritesAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChain(t, 2)
		c.write(1)
		c[0].writing <- struct{}{} // a write that takes long
		done := make(chan []any)
		go func() { done <- holdStill(c.members()) }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("did not wait")
		default:
		}
		<-c[0].writing
		if got := <-done; got[0] != any(c[0].Snapshot()) || got[1] != any(c[1].Snapshot()) {
			t.Errorf("got %v", got)
		}
	})
}
