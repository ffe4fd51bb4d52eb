package indexer

// turn is the time in which one writer has the state for itself. It must be
// ended by a deferred call: an index function can end the writer's goroutine
// (runtime.Goexit, which is how t.FailNow works), and the next writer must find a
// state that is the newest snapshot's all the same.
type turn[T any] struct {
	x     *Indexer[T]
	state *state[T] // for the next turn
	// half says that state was being changed and is not the newest snapshot's.
	half bool
	// untold is the snapshot whose watches have not all been told, or nil.
	untold *Snapshot[T]
}

// begin waits for a turn.
func (x *Indexer[T]) begin() turn[T] { return turn[T]{x: x, state: <-x.writer} }

// publish makes next, which is what s holds, the newest snapshot and tells the
// watches. It also returns the index errors that are new.
func (t *turn[T]) publish(s *state[T], next *Snapshot[T]) (*Snapshot[T], []*IndexError) {
	x := t.x
	fresh := s.failures.commit()
	previous := x.current.Load()
	if previous != nil {
		next.sequence = previous.sequence + 1
	}
	x.failures.Store(s.failures)
	x.current.Store(next)
	t.state, t.half, t.untold = s, false, next
	x.notify(previous, next, s.indexes)
	t.untold = nil
	return next, fresh
}

// end lets the next writer go on, whatever became of this one.
func (t *turn[T]) end() {
	if t.half {
		t.state.rollback(t.x.current.Load())
	}
	if t.untold != nil { // better too many than one that waits for ever
		t.x.watches.hitAll(t.untold.sequence)
	}
	t.x.writer <- t.state
}
