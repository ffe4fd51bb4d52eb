package informer

import "iter"

// roster holds the cursors of an Informer in the order of their registration, so
// that ten thousand handlers come and go without each looking at all the others.
// The zero value is empty. Guarded by the Informer's mu, as place of a Registration
// is.
type roster[T Object] struct {
	places []*cursor[T] // nil where one has left
	left   int          // how many of them
}

// add puts c at the end.
func (r *roster[T]) add(c *cursor[T]) {
	c.reg.place = len(r.places)
	r.places = append(r.places, c)
}

// remove takes the cursor of reg out. Room is made once half of the places are
// empty, so that each removal pays for a place or two.
func (r *roster[T]) remove(reg *Registration) {
	r.places[reg.place] = nil
	r.left++
	if r.left <= len(r.places)/2 {
		return
	}
	places := make([]*cursor[T], 0, len(r.places)-r.left)
	for c := range r.all() {
		c.reg.place = len(places)
		places = append(places, c)
	}
	r.places, r.left = places, 0
}

// all yields the cursors in order. None may come or go meanwhile.
func (r *roster[T]) all() iter.Seq[*cursor[T]] {
	return func(yield func(*cursor[T]) bool) {
		for _, c := range r.places {
			if c != nil && !yield(c) {
				return
			}
		}
	}
}

func (r *roster[T]) len() int { return len(r.places) - r.left }
