package informer

// teller makes the calls of one handler out of notices.
type teller[T Object] struct {
	handler    Handler[T]
	filter     func(T) bool // nil: everything
	predicates []Predicate
	panics     PanicPolicy
	raw        bool // panics are the caller's own
}

// tell makes the call that n amounts to and reports whether there was one.
func (t *teller[T]) tell(n *notice[T], initial bool) bool {
	kind := n.kind
	if t.filter != nil {
		kind = t.filtered(n)
	}
	switch kind {
	case noticeAdd:
		t.handler.OnAdd(n.obj, initial)
	case noticeAppear:
		t.handler.OnAdd(n.obj, false)
	case noticeUpdate:
		if t.predicates != nil && !t.changed(n) {
			return false
		}
		t.handler.OnUpdate(n.old, n.obj)
	case noticeResync:
		t.handler.OnUpdate(n.obj, n.obj)
	case noticeDelete:
		t.handler.OnDelete(Deleted[T]{Key: n.key, Last: n.obj, Exact: n.exact})
	case noticeLeave:
		t.handler.OnDelete(Deleted[T]{Key: keyOf(n.old), Last: n.old, Exact: !n.merged})
	default:
		return false
	}
	return true
}
