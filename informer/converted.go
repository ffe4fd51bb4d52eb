package informer

import "fmt"

// AddConverted is AddHandler for a handler of another representation of the
// objects: what i caches goes through convert on its way to h, each time anew and in
// h's goroutine, so that there is no second cache. A filter of the options is one of
// T; predicates look at the objects as they are cached. convert must not modify its
// argument. Errors are those of AddHandler, and ErrInvalidOptions without convert.
func AddConverted[S, T Object](i *Informer[S], convert func(S) T, h Handler[T], opts ...HandlerOption) (*Registration, error) {
	switch {
	case h == nil:
		return nil, fmt.Errorf("informer %q: %w: no handler", i.name, ErrInvalidOptions)
	case convert == nil:
		return nil, fmt.Errorf("informer %q: %w: no conversion", i.name, ErrInvalidOptions)
	}
	config, asked, err := configure[T](opts)
	if err != nil {
		return nil, fmt.Errorf("informer %q: %w", i.name, err)
	}
	reg := newRegistration(i, config, callerSite())
	t := teller[S]{handler: i.guard(converter[S, T]{convert, h}, reg), predicates: asked.predicates, panics: asked.panics}
	if asked.filter != nil {
		t.filter = func(obj S) bool { return asked.filter(convert(obj)) }
	}
	i.register(&cursor[S]{reg: reg, tell: t, state: i.state.Load})
	return reg, nil
}

// converter is a Handler that passes on what convert makes of objects.
type converter[S, T Object] struct {
	convert func(S) T
	to      Handler[T]
}

// OnAdd implements Handler.
func (c converter[S, T]) OnAdd(obj S, initial bool) { c.to.OnAdd(c.convert(obj), initial) }

// OnUpdate implements Handler.
func (c converter[S, T]) OnUpdate(old, obj S) {
	if any(old) == any(obj) { // a resync
		one := c.convert(obj)
		c.to.OnUpdate(one, one)
		return
	}
	c.to.OnUpdate(c.convert(old), c.convert(obj))
}

// OnDelete implements Handler.
func (c converter[S, T]) OnDelete(d Deleted[S]) {
	c.to.OnDelete(Deleted[T]{Key: d.Key, Last: c.convert(d.Last), Exact: d.Exact})
}
