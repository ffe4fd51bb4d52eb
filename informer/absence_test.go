package informer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/reflector"
)

// signalled is an Absence that believes every 404, and is told when to look again.
type signalled chan struct{}

func (s signalled) Absent(int, bool) bool { return true }

func (s signalled) Await(ctx context.Context, _ int) {
	select {
	case <-s:
	case <-ctx.Done():
	}
}

// absenceBubble is bubble with an informer whose resource comes and goes.
func absenceBubble(t *testing.T, f func(*testing.T, *rig, signalled)) {
	synctest.Test(t, func(t *testing.T) {
		back, from := make(signalled), newCollection()
		inf, err := New(from, Options[*thing]{Reflector: reflector.Options{Absence: back}})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Informer: inf, t: t, from: from}
		f(t, r, back)
		r.stop()
	})
}

var noThings = apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "things"}, "")

// waitsInVain returns the error of a wait for sync of a second.
func waitsInVain(t *testing.T, i *Informer[*thing]) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := i.WaitForSync(ctx)
	if !errors.Is(err, ErrNotSynced) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitForSync while the resource is absent: %v", err)
	}
	return err
}

func TestAnInformerWaitsForAResourceAndLetsGoOfOne(t *testing.T) {
	absenceBubble(t, func(t *testing.T, r *rig, back signalled) {
		var told recorder
		reg, err := r.AddHandler(&told)
		if err != nil {
			t.Fatal(err)
		}
		r.from.set("a")
		r.from.refuse(noThings)
		r.start()
		text := waitsInVain(t, r.Informer).Error()
		for _, part := range []string{"absent since", `resource "things" in API group "example.com" is absent from the server`} {
			if !strings.Contains(text, part) {
				t.Errorf("error %q does not say %q", text, part)
			}
		}
		if reg.isSynced() {
			t.Error("a handler is in sync with an absent resource")
		}
		for _, add := range []string{"initial a", "add a"} { // it comes and goes
			r.from.refuse(nil)
			back <- struct{}{}
			r.waitForSync()
			synctest.Wait()
			if got := told.take(); len(got) != 1 || !strings.HasPrefix(got[0], add) {
				t.Errorf("told %v when the resource appeared", got)
			}
			version := r.Snapshot().ResourceVersion()
			r.from.refuse(noThings)
			synctest.Wait()
			time.Sleep(10 * time.Second) // a lost connection is resumed first
			synctest.Wait()
			if got := told.take(); len(got) != 1 || !strings.HasPrefix(got[0], "delete a") || strings.HasSuffix(got[0], "exact") {
				t.Errorf("told %v when the resource went", got)
			}
			s := r.Status()
			if s.Phase != reflector.Absent || s.Synced || s.Objects != 0 || s.ResourceVersion != version {
				t.Errorf("phase %v, synced %v, %d objects at %s, want none at %s", s.Phase, s.Synced, s.Objects, s.ResourceVersion, version)
			}
			_ = waitsInVain(t, r.Informer)
			if err := r.WaitForSync(FailFast(t.Context())); !errors.Is(err, ErrDenied) {
				t.Errorf("WaitForSync with FailFast: %v", err)
			}
		}
	})
}

func TestAnObjectOfAResourceThatCameBackIsAnotherOne(t *testing.T) {
	absenceBubble(t, func(t *testing.T, r *rig, back signalled) {
		r.from.set("a")
		r.start()
		r.waitForSync()
		// The cache hears of all of it at once.
		r.writing <- struct{}{}
		r.from.refuse(noThings)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.from.remove("a")
		r.from.set("a")
		r.from.refuse(nil)
		back <- struct{}{}
		<-r.writing
		time.Sleep(time.Second)
		synctest.Wait()
		obj, _ := r.Snapshot().Get("a")
		if obj == nil || obj.UID != "u2" || !r.Status().Synced {
			t.Errorf("cached: %v, synced: %v", obj, r.Status().Synced)
		}
	})
}

func TestAJoinedInformerIsOutOfSyncWhileThePartOfAnAbsentResourceIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(signalled)
		one, other := newCollection(), newCollection()
		one.set("a")
		other.set("b")
		i, err := NewJoined([]Part[*thing]{{Name: "one", Source: one}, {Name: "other", Source: other}},
			Options[*thing]{Reflector: reflector.Options{Absence: back}})
		if err != nil {
			t.Fatal(err)
		}
		defer runInBubble(t, i)()
		if err := i.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.refuse(noThings)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := i.Snapshot().Keys(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("keys %v, want those of the part that is there", got)
		}
		_ = waitsInVain(t, i)
		other.refuse(nil)
		back <- struct{}{}
		if err := i.WaitForSync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := i.Snapshot().Keys(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("keys %v", got)
		}
	})
}
