package informer

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/klog/v2"
)

// The bubble fails if a goroutine is left.
func TestAThousandInformersRunAtOnceAndLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
		var running sync.WaitGroup
		var informers []*Informer[*thing]
		for range 1000 {
			from := newCollection()
			from.set("a")
			inf, err := New(from, Options[*thing]{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := inf.AddHandler(&recorder{}); err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				if err := inf.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			informers = append(informers, inf)
		}
		for _, inf := range informers {
			if err := inf.WaitForSync(ctx); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n > 4*1000 {
			t.Errorf("%d goroutines: more than Run, the reflector, the apply loop and the handler of each", n)
		}
		cancel()
		running.Wait()
		for _, inf := range informers {
			if obj, found := inf.Snapshot().Get("a"); !found {
				t.Fatalf("the cache has %v", obj)
			}
		}
	})
}
