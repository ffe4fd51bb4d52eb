package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestARosterKeepsTheOrderOfThoseWhoStay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(rand.Uint64(), 0))
	var r roster[*thing]
	var want []*cursor[*thing]
	for step := range 5000 {
		if n := len(want); n > 0 && rnd.IntN(5) < 2+step/2500 { // grows, then shrinks
			k := rnd.IntN(n)
			r.remove(want[k].reg)
			want = slices.Delete(want, k, k+1)
		} else {
			c := &cursor[*thing]{reg: &Registration{name: fmt.Sprint(step)}}
			r.add(c)
			want = append(want, c)
		}
		if r.len() != len(want) || len(r.places) > 2*len(want)+1 {
			t.Fatalf("step %d: %d of %d in %d places", step, r.len(), len(want), len(r.places))
		}
		if step%100 == 0 && !slices.Equal(slices.Collect(r.all()), want) {
			t.Fatalf("step %d: the order is lost", step)
		}
	}
	for c := range r.all() {
		if c != want[0] {
			t.Error("the first is not the first")
		}
		break
	}
}

func TestHandlersAddedAndRemovedByTheThousandsLeaveTheOthersInOrder(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		const n = 4_000
		var regs []*Registration
		for k := range n {
			reg, err := r.AddHandler(&recorder{}, WithName(fmt.Sprint(k)))
			if err != nil {
				t.Fatal(err)
			}
			regs = append(regs, reg)
		}
		r.from.set("a")
		for k, reg := range regs {
			if k%1000 != 999 {
				reg.Remove()
			}
		}
		for k, reg := range regs {
			if k%1000 != 999 {
				<-reg.Done()
			}
		}
		r.expectCache()
		handlers := r.Status().Handlers
		if len(handlers) != n/1000 {
			t.Fatalf("%d handlers are left", len(handlers))
		}
		for k, h := range handlers {
			if want := fmt.Sprint(k*1000 + 999); h.Name != want || h.Calls != 1 {
				t.Errorf("handler %d is %q with %d calls, want %s with one", k, h.Name, h.Calls, want)
			}
		}
	})
}

// BenchmarkHandlersThatComeAndGo is the cost of one handler among many.
func BenchmarkHandlersThatComeAndGo(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			inf, err := New(newCollection(), Options[*thing]{})
			if err != nil {
				b.Fatal(err)
			}
			for range n {
				if _, err := inf.AddHandler(HandlerFuncs[*thing]{}); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				reg, err := inf.AddHandler(HandlerFuncs[*thing]{})
				if err != nil {
					b.Fatal(err)
				}
				reg.Remove()
			}
		})
	}
}
