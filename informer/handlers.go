package informer

import (
	"context"
	"fmt"
	"time"
)

// AddHandler registers h. It first gets the objects of the current snapshot as
// initial adds, then every change after that snapshot, nothing missing and
// nothing twice; options may ask for less. Calls are made only while the Informer
// runs. Neither this nor the removal costs more the more handlers there are. Error: ErrInvalidOptions if h is nil or an option makes no sense.
func (i *Informer[T]) AddHandler(h Handler[T], opts ...HandlerOption) (*Registration, error) {
	if h == nil {
		return nil, fmt.Errorf("informer %q: %w: no handler", i.name, ErrInvalidOptions)
	}
	config, t, err := configure[T](opts)
	if err != nil {
		return nil, fmt.Errorf("informer %q: %w", i.name, err)
	}
	reg := newRegistration(i, config, callerSite())
	t.handler = i.guard(h, reg)
	c := &cursor[T]{reg: reg, tell: t, state: i.state.Load}
	i.register(c)
	return c.reg, nil
}

// configure applies options to a registration, and to what makes the calls.
func configure[T Object](opts []HandlerOption) (handlerConfig, teller[T], error) {
	config := handlerConfig{slowAfter: defaultSlowAfter}
	for _, opt := range opts {
		if opt != nil { // left out, as where it depends on something
			opt(&config)
		}
	}
	t := teller[T]{predicates: config.predicates, panics: config.panics}
	if config.filter != nil {
		filter, ok := config.filter.(func(T) bool)
		switch {
		case !ok:
			return config, t, fmt.Errorf("%w: WithFilter with a %T, want a %T", ErrInvalidOptions, config.filter, filter)
		case filter == nil:
			return config, t, fmt.Errorf("%w: WithFilter with a nil filter", ErrInvalidOptions)
		}
		t.filter = filter
	}
	return config, t, config.validate()
}

// register gives c its place and starts it, if it is one of those that Run runs.
func (i *Informer[T]) register(c *cursor[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c.reg.name == "" {
		i.nameless++
		c.reg.name = fmt.Sprintf("handler-%d", i.nameless)
	}
	p, now := i.state.Load(), time.Now()
	c.startAt(p)
	i.cursors.add(c)
	if after, now := int64(c.reg.slowAfter), i.patience.Load(); after > 0 && (now == 0 || after < now) {
		i.patience.Store(after)
	}
	if i.run != nil {
		i.start(c)
		i.watchCalls(now)
		if p.synced {
			i.scheduleResync(c.reg, now)
		}
	}
}

// start has c call its handler until the end of the run. Called with mu held.
func (i *Informer[T]) start(c *cursor[T]) {
	if !c.pulled {
		c.startIn(i.run.handlers)
	}
}

// detach forgets a removed handler.
func (i *Informer[T]) detach(reg *Registration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cursors.remove(reg)
}

// newRegistration makes the registration of a handler of i.
func newRegistration[T Object](i *Informer[T], config handlerConfig, at site) *Registration {
	reg := &Registration{
		name:    config.name,
		site:    at,
		written: func() (int64, int) { p := i.state.Load(); return p.end, p.snapshot.Len() },
		ended:   i.end,
		detach:  i.detach,
		synced:  make(chan struct{}),
		done:    make(chan struct{}),
		nudge:   make(chan struct{}, 1),
		meter:   meter{base: time.Now(), lap: 1, left: 1},

		latestOnly: config.latestOnly,
		slowAfter:  config.slowAfter,
		watch:      i.watchCalls,
		resync:     config.resync,
		resynced:   i.resynced,
	}
	reg.onPanic = []func(context.Context, any){func(context.Context, any) { reg.panicked() }}
	return reg
}
