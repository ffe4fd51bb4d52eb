package informertest

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Filter returns the history of the objects that match, as a watch with a
// selector, or a handler with a filter, sees it: an object that begins to match
// is added, one that no longer does is deleted, at the resourceVersion of the
// change, with the last state that matched. The result is a copy: it does not
// follow what is recorded later. The changes must have objects.
func (h *History) Filter(match func(metav1.Object) bool) *History { return h.clone().filter(match) }

// filter is Filter of a history that nobody else uses.
func (h *History) filter(match func(metav1.Object) bool) *History {
	out := NewHistory(h.from, h.content)
	for _, c := range h.changes {
		was, visible := out.latest(c.Key)
		matches := c.Type != watch.Deleted && match(c.Object)
		switch {
		case matches && !visible:
			c.Type = watch.Added
		case matches:
			c.Type = watch.Modified
		case visible:
			c.Type = watch.Deleted
			c.Object = was.Object
			c.Version.Content = was.Version.Content
		default:
			continue
		}
		out.append(c)
	}
	out.to = h.to
	return out
}

// clone is what there is now, for one goroutine: no lock is needed.
func (h *History) clone() *History {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := NewHistory(h.from, h.content)
	out.to, out.changes = h.to, h.changes[:len(h.changes):len(h.changes)]
	for key, places := range h.byKey {
		out.byKey[key] = places[:len(places):len(places)]
	}
	return out
}

// Follow records what w brings until ctx ends, which is no error; w is stopped
// then. Begin w at the history's newest resourceVersion. Errors: ErrHistory, a
// status that the server sent, or ErrWatchEnded: then the history is good, and
// another watch can continue it.
func (h *History) Follow(ctx context.Context, w watch.Interface) error {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-w.ResultChan():
			if ctx.Err() != nil {
				return nil // what the end of ctx looks like to the watch is no matter
			}
			if !open {
				return ErrWatchEnded
			}
			obj, ok := event.Object.(metav1.Object)
			if event.Type == watch.Error || !ok {
				return fmt.Errorf("history: %s event with a %T: %+v", event.Type, event.Object, event.Object)
			}
			if err := h.Record(event.Type, obj); err != nil {
				return err
			}
		}
	}
}
