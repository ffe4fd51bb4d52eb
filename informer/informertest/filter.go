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
func (h *History) Filter(match func(metav1.Object) bool) *History {
	return h.clone().image(func(obj metav1.Object) (metav1.Object, bool) { return obj, match(obj) })
}

// Map returns the history as an informer with a transform sees it: of objects
// as transform returns them, without those of which it says false, which an
// informer is told by ErrDrop. The transform must depend on its argument only,
// and not modify it. Otherwise Map is as Filter.
func (h *History) Map(transform func(metav1.Object) (obj metav1.Object, keep bool)) *History {
	out := h.clone().image(transform)
	for each := out; each != nil; each = each.before {
		each.drops = true
	}
	return out
}

// image is Map of a history that nobody else uses.
func (h *History) image(transform func(metav1.Object) (metav1.Object, bool)) *History {
	out := NewHistory(h.from, h.content)
	out.drops, out.restored = h.drops, h.restored
	if h.before != nil {
		out.before = h.before.image(transform)
	}
	for _, c := range h.changes {
		was, visible := out.latest(c.Key)
		matches := false
		if c.Type != watch.Deleted {
			if c.Object, matches = transform(c.Object); matches && h.content != nil {
				c.Version.Content = h.content(c.Object)
			}
		}
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
	out.drops, out.restored, out.to, out.changes = h.drops, h.restored, h.to, h.changes[:len(h.changes):len(h.changes)]
	for key, places := range h.byKey {
		out.byKey[key] = places[:len(places):len(places)]
	}
	if h.before != nil {
		out.before = h.before.clone()
	}
	return out
}

// Restore begins the history of the same server after it was restored to what it
// was at resourceVersion at, as from a backup: it knows what h knows up to then,
// and nothing after it yet. A trace that is judged by it may go along h at first,
// and pass at any point to what came then. h must be complete; it is kept, and
// must not be recorded into any more. Error: ErrHistory if h does not know that
// resourceVersion.
func (h *History) Restore(at uint64) (*History, error) {
	old := h.clone()
	if at < old.from || at > old.to {
		return nil, fmt.Errorf("%w: restored to %d, which is not between %d and %d", ErrHistory, at, old.from, old.to)
	}
	out := NewHistory(old.from, old.content)
	out.before, out.drops, out.restored, out.to = old, old.drops, at, at
	for _, c := range old.changes {
		if c.Version.ResourceVersion <= at {
			out.append(c)
		}
	}
	return out, nil
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
