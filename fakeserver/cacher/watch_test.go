package cacher

import (
	"fmt"
	"testing"
)

func TestAWatchWithInitialEventsDeliversTheStateThenTheBookmarkThenChanges(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		b, a := r.put("n/b", ""), r.put("n/a", "")
		for _, rv := range []string{"", "0", fmt.Sprint(a)} {
			w := r.watch(WatchOptions{ResourceVersion: rv, SendInitialEvents: ptr(true), AllowBookmarks: true})
			r.expect(w,
				fmt.Sprintf("ADDED n/a@%d", a),
				fmt.Sprintf("ADDED n/b@%d", b),
				fmt.Sprintf("BOOKMARK@%d end", a))
			r.expectNothing(w)
			w.Stop()
			r.expect(w, "EOF")
		}
	})
}
