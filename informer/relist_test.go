package informer

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

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
