package informer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/reflector"
)

func TestRelistFetchesEveryPartAgainAndTriesFailedTransformsAgain(t *testing.T) {
	refuse := true
	transform := func(obj *thing) (*thing, error) {
		if refuse && obj.Name == "1" {
			return nil, errors.New("cannot digest")
		}
		return obj, nil
	}
	joined(t, []string{"a", "b"}, Options[*thing]{Transform: transform}, func(t *testing.T, r *joinedRig) {
		r.from.set("a/1")
		r.from.set("b/2")
		h := &recorder{}
		r.add(h)
		r.Relist() // does nothing yet
		r.start()
		r.expect(h, "initial b/2:u2@3")
		refuse = false
		r.Relist()
		r.expect(h, "add a/1:u1@2")
		for _, part := range r.Status().Parts {
			if diff := cmp.Diff(map[reflector.RelistReason]int64{reflector.RelistInitial: 1, reflector.RelistForced: 1}, part.Reflector.Relists); diff != "" {
				t.Errorf("relists of %s (-want +got):\n%s", part.Name, diff)
			}
		}
		r.Relist()
		synctest.Wait()
		r.expect(h)
	})
}

// overtaken is a server whose history went back and has got to the old version again
// by the time that it is listed.
type overtaken struct{ *collection }

func (o overtaken) List(ctx context.Context, options metav1.ListOptions) (reflector.Page[*thing], error) {
	page, err := o.collection.List(ctx, options)
	if options.Limit == 1 {
		page.ResourceVersion = "1"
	}
	return page, err
}

// overtakenOnce is a namespace of a server that seems to be one that went back, if
// back is set, when it is asked next where it is.
type overtakenOnce struct {
	*namespace
	back atomic.Bool
}

func (p *overtakenOnce) List(ctx context.Context, options metav1.ListOptions) (reflector.Page[*thing], error) {
	page, err := p.namespace.List(ctx, options)
	if options.Limit == 1 && p.back.Swap(false) {
		page.ResourceVersion = "1"
	}
	return page, err
}

func TestWhatOnePartKnowsOfARewoundHistoryConcernsTheOthers(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("both notice: %v", both), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				from, h := newCollection(), &recorder{}
				for _, key := range []string{"b/lost", "b/other", "a/1"} {
					from.set(key)
				}
				inf, err := NewJoined(Namespaces([]string{"a", "b"}, func(name string) reflector.Source[*thing] {
					part := &overtakenOnce{namespace: &namespace{collection: from, name: name}}
					part.back.Store(both || name == "a")
					return part
				}), Options[*thing]{})
				if err != nil {
					t.Fatal(err)
				}
				stop := runInBubble(t, inf)
				if err := inf.WaitForSync(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := inf.AddHandler(h); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				h.take()
				from.rewrite(func(objects map[string]*thing) {
					delete(objects, "b/lost")
					objects["b/other"] = objects["b/other"].DeepCopy()
					objects["b/other"].Labels = map[string]string{"written": "again"}
				})
				time.Sleep(time.Hour)
				told := h.take()
				slices.Sort(told)
				told = slices.Compact(told) // that all count as changed may be told twice
				want := []string{"delete b/lost:u1@2", "update a/1:u3@4 -> a/1:u3@4", "update b/other:u2@3 -> b/other:u2@3"}
				if !slices.Equal(told, want) {
					t.Errorf("told %q, want %q", told, want)
				}
				if obj, _ := inf.Snapshot().Get("b/other"); obj == nil || obj.Labels["written"] != "again" {
					t.Errorf("cached: %v", obj)
				}
				for _, part := range inf.Status().Parts {
					var relists int64
					for _, n := range part.Reflector.Relists {
						relists += n
					}
					if relists > 3 || !both && relists != 2 {
						t.Errorf("relists of %s go on: %v", part.Name, part.Reflector.Relists)
					}
				}
				stop()
			})
		})
	}
}

func TestNoVersionIsTrustedOfAServerThatWentBackAndCaughtUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, h := newCollection(), &recorder{}
		from.set("a")
		inf, err := New(overtaken{from}, Options[*thing]{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inf.AddHandler(h); err != nil {
			t.Fatal(err)
		}
		stop := runInBubble(t, inf)
		from.cut()
		time.Sleep(time.Minute)
		stop()
		if got, want := h.take(), []string{"initial a:u1@2", "update a:u1@2 -> a:u1@2"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		if s := inf.Status().Reflector; s.Rewinds != 1 || s.Relists[reflector.RelistRewound] != 1 {
			t.Errorf("%d rewinds, relists %v", s.Rewinds, s.Relists)
		}
	})
}
