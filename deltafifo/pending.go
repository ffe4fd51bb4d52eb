package deltafifo

// Pending returns what waits and concerns key, oldest first. For a Replaced it
// has Key and, unless the key is not part of the replacement, Object set, and no
// Replacement. It looks at everything that waits: it is for explanations.
func (q *Queue[T]) Pending(key string) []Delta[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	var found []Delta[T]
	for k := range q.pending {
		d := q.pending[k]
		switch {
		case d.Type == Replaced:
			d.Key = key
			for _, item := range d.Replacement.Items {
				if item.Key == key { // the last one counts
					d.Object = item.Object
				}
			}
			d.Replacement = nil
			found = append(found, d)
		case d.Key == key && (d.Type == Added || d.Type == Updated || d.Type == Deleted):
			found = append(found, d)
		}
	}
	return found
}
