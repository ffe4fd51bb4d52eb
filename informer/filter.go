package informer

// WithFilter shows the handler only the objects that keep is true for, as if the
// collection had no others: an object that begins to match is an add (never an
// initial one), one that no longer does is a delete with the last state that
// matched. T must be the Informer's type. keep is called once or twice for each
// change, in the handler's goroutine; it must depend on its argument only.
//
// Depth counts changes before the filter.
func WithFilter[T Object](keep func(T) bool) HandlerOption {
	return func(c *handlerConfig) { c.filter = keep }
}

// filtered is what n is for those who see only what t.filter lets through.
func (t *teller[T]) filtered(n *notice[T]) noticeKind {
	switch n.kind {
	case noticeUpdate:
		was, is := t.filter(n.old), t.filter(n.obj)
		switch {
		case was && is:
			return noticeUpdate
		case is:
			return noticeAppear
		case was:
			return noticeLeave
		}
		return noticeNothing
	case noticeDelete:
		// The server may send a last state that no longer matches, or matches
		// only now. What the handler was told before is what counts.
		before := n.old
		if isNil(before) {
			before = n.obj
		}
		if t.filter(before) {
			return noticeDelete
		}
	default:
		if t.filter(n.obj) {
			return n.kind
		}
	}
	return noticeNothing
}
