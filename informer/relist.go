package informer

// Relist has the whole collection fetched again, of every part, and compared with
// the cache: for one who doubts what is cached, or wants objects whose transform
// failed to be tried again. It does not wait, and does nothing while Run is not in
// progress; requests that come before the list has begun count as one. What did not
// change is not told to handlers.
func (i *Informer[T]) Relist() {
	for _, p := range i.parts {
		p.reflector.Relist()
	}
}
