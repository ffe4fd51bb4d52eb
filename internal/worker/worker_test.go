package worker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/listwatch/listwatch/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStopAndWaitReturnsAfterEveryGoroutineIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := worker.New(context.Background())
		var gone atomic.Int32
		for range 3 {
			group.Go("slow to stop", func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Minute)
				gone.Add(1)
			})
		}
		group.StopAndWait()
		if got := gone.Load(); got != 3 {
			t.Fatalf("%d of 3 goroutines were gone when StopAndWait returned", got)
		}
	})
}

func TestGoAfterStopStartsNothing(t *testing.T) {
	group := worker.New(context.Background())
	group.Stop()
	if group.Go("late", func(context.Context) { t.Error("ran after Stop") }) {
		t.Error("Go reported true after Stop")
	}
	group.Wait()
}

func TestEndOfTheParentStopsTheGroup(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	group := worker.New(parent)
	group.Go("watches its context", func(ctx context.Context) { <-ctx.Done() })
	cancel()
	group.Wait()
	if group.Go("late", func(context.Context) {}) {
		t.Error("Go reported true after the parent ended")
	}
}
