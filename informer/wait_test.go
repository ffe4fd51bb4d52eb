package informer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/listwatch/listwatch/reflector"
)

func TestWaitForSyncReturnsWhenTheFirstListIsInTheCache(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.set("a")
		got := make(chan error, 1)
		go func() { // begins to wait before Run
			err := r.WaitForSync(t.Context())
			if r.Snapshot().Len() != 1 {
				err = fmt.Errorf("%d objects at the time of the sync", r.Snapshot().Len())
			}
			got <- err
		}()
		synctest.Wait()
		r.start()
		if err := <-got; err != nil {
			t.Error(err)
		}
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Errorf("the second wait: %v", err)
		}
	})
}

func TestWaitForSyncSaysWhatTheServerRefuses(t *testing.T) {
	bubble(t, Options[*thing]{Name: "things"}, func(t *testing.T, r *rig) {
		r.from.refuse(forbidden)
		r.start()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := r.WaitForSync(ctx)
		for _, target := range []error{ErrNotSynced, context.DeadlineExceeded} {
			if !errors.Is(err, target) {
				t.Errorf("%v is not %v", err, target)
			}
		}
		if !apierrors.IsForbidden(err) {
			t.Errorf("the server's refusal cannot be told from %v", err)
		}
		syncError, ok := errors.AsType[*SyncError](err)
		if !ok || syncError.Status.Reflector.Tries < 2 {
			t.Fatalf("got %#v, want a SyncError after some tries", err)
		}
		for _, part := range []string{
			`informer "things"`, "backing off since 2000-01-01T00:00:", "failed tries", "HTTP 403 Forbidden",
			`User "alice" cannot list resource "things"`, "deadline exceeded",
			fmt.Sprint(syncError.Status.Reflector.Tries),
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is missing in: %v", part, err)
			}
		}
		r.from.refuse(nil)
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Errorf("after the server gave in: %v", err)
		}
	})
}

func TestWaitsEndWhenTheInformerStops(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(errors.New("connection refused"))
		r.start()
		synced, reached := make(chan error, 1), make(chan error, 1)
		go func() { synced <- r.WaitForSync(context.Background()) }()
		go func() { reached <- r.WaitFor(context.Background(), "5") }()
		synctest.Wait()
		r.stop()
		if err := <-synced; !errors.Is(err, ErrStopped) || !errors.Is(err, ErrNotSynced) {
			t.Errorf("WaitForSync: got %v, want ErrStopped and ErrNotSynced", err)
		}
		if err := <-reached; !errors.Is(err, ErrStopped) {
			t.Errorf("WaitFor: got %v, want ErrStopped", err)
		}
		if err := r.WaitFor(context.Background(), "5"); !errors.Is(err, ErrStopped) {
			t.Errorf("WaitFor after the end: got %v, want ErrStopped", err)
		}
	})
}

func TestAnotherRunMustSyncAnew(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		r.stop()
		r.from.refuse(errors.New("connection refused"))
		r.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.WaitForSync(ctx); !errors.Is(err, ErrNotSynced) {
			t.Errorf("got %v, want ErrNotSynced", err)
		}
		r.from.refuse(nil)
		if err := r.WaitForSync(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForReturnsWhenTheWriteCanBeRead(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.start()
		for range 10 {
			written := r.from.set("a")
			if err := r.WaitFor(t.Context(), written); err != nil {
				t.Fatal(err)
			}
			if obj, _ := r.Snapshot().Get("a"); obj == nil || obj.ResourceVersion != written {
				t.Fatalf("read %s after waiting for %s", show(obj), written)
			}
		}
		order, err := resourceversion.CompareResourceVersion("9", "10")
		if err != nil || order >= 0 {
			t.Fatal("versions are compared as text")
		}
		if err := r.WaitFor(t.Context(), "9"); err != nil {
			t.Errorf("an older version: %v", err)
		}
	})
}

func TestWaitForEndsWithTheContextAndNamesBothVersions(t *testing.T) {
	bubble(t, Options[*thing]{Name: "things"}, func(t *testing.T, r *rig) {
		r.from.set("a")
		r.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := r.WaitFor(ctx, "77")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		for _, part := range []string{`"things"`, "77", `"2"`} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is missing in: %v", part, err)
			}
		}
	})
}

func TestWaitForRefusesWhatIsNoResourceVersion(t *testing.T) {
	inf, err := New(newCollection(), Options[*thing]{})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", "0", "-1", "1x", "007", "latest"} {
		if err := inf.WaitFor(t.Context(), version); !errors.Is(err, ErrInvalidResourceVersion) {
			t.Errorf("%q: got %v, want ErrInvalidResourceVersion", version, err)
		}
	}
}

func TestStatusTellsThePhaseAndTheSizeOfTheCache(t *testing.T) {
	bubble(t, Options[*thing]{Name: "things"}, func(t *testing.T, r *rig) {
		if s := r.Status(); s.Phase != reflector.Initial || s.Running || s.Synced || s.Name != "things" {
			t.Errorf("before Run: %+v", s)
		}
		r.from.set("a")
		r.from.set("b")
		r.start()
		began := time.Now()
		time.Sleep(time.Minute)
		s := r.Status()
		if s.Phase != reflector.Watching || !s.Running || !s.Synced || s.Objects != 2 || s.ResourceVersion != "3" {
			t.Errorf("while running: %+v", s)
		}
		if !s.Since.Equal(began) {
			t.Errorf("watching since %v, want %v", s.Since, began)
		}
		r.writing <- struct{}{} // the cache is busy
		r.from.set("c")
		synctest.Wait()
		r.from.set("d")
		time.Sleep(time.Second)
		if s := r.Status(); s.QueueDepth != 1 || s.QueueAge != time.Second {
			t.Errorf("queue of %d, %v old, want 1 and one second", s.QueueDepth, s.QueueAge)
		}
		<-r.writing
		r.stop()
		if s := r.Status(); s.Phase != reflector.Stopped || s.Running || s.Synced || s.Objects != 4 {
			t.Errorf("after the end: %+v", s)
		}
	})
}

func TestAWaitThatItsContextEndsSaysThatAndTheCause(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		r.from.refuse(errors.New("connection reset"))
		r.start()
		reg := r.add(&recorder{})
		cause := errors.New("the user went home")
		for _, ended := range []func() (context.Context, error){
			func() (context.Context, error) {
				ctx, end := context.WithCancelCause(t.Context())
				end(cause)
				return ctx, context.Canceled
			},
			func() (context.Context, error) {
				ctx, end := context.WithTimeoutCause(t.Context(), time.Second, cause)
				t.Cleanup(end)
				return ctx, context.DeadlineExceeded
			},
		} {
			for name, wait := range map[string]func(context.Context) error{
				"WaitForSync":     r.WaitForSync,
				"all":             func(ctx context.Context) error { return WaitForSync(ctx, r) },
				"WaitFor":         func(ctx context.Context) error { return r.WaitFor(ctx, "1000") },
				"WaitForHandlers": func(ctx context.Context) error { return r.WaitForHandlers(ctx, "1000") },
				"of a handler":    func(ctx context.Context) error { return reg.WaitFor(ctx, "1000") },
			} {
				ctx, want := ended()
				if err := wait(ctx); !errors.Is(err, want) || !errors.Is(err, cause) {
					t.Errorf("%s: got %v, want %v and the cause", name, err, want)
				}
			}
		}
	})
}
