package informer

import (
	"context"
	"errors"
	"slices"
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
