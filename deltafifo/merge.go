package deltafifo

// merger holds the one thing that merging needs to remember, so that it makes no
// garbage when it is used again. It has no lock: the queue has one.
type merger[T any] struct {
	heads map[string]head // empty between calls
	keep  int             // a map of more keys than this is not kept
}

// head is the oldest delta that is kept of a key.
type head struct {
	at int // index in the slice at hand
	// present is set if the key held an object between this delta, a Deleted,
	// and the nearest other Deleted.
	present bool
}

// nowhere is the place of what stands for no delta that is kept.
const nowhere = -1

// merge applies the merge rules of doc.go to deltas, in place, and returns the
// shorter slice. What stands before a replacement is already as short as it
// gets (see onlyDeletes), and the replacement is not merged with anything.
func (m *merger[T]) merge(deltas []Delta[T]) []Delta[T] {
	start := 0
	for i, d := range deltas {
		if d.Type == Replaced {
			start = i + 1
		}
	}
	m.begin()
	// From new to old, so that a merged delta stands where its newest part was:
	// then resourceVersions stay in order and the last delta stays the last.
	free := len(deltas)
	for i := len(deltas) - 1; i >= start; i-- {
		d := &deltas[i]
		switch {
		case d.Type == Resync:
		case d.Type == Bookmark:
			if i < len(deltas)-1 {
				continue
			}
		case m.absorb(deltas, d):
			continue
		default:
			m.heads[d.Key] = head{at: free - 1}
		}
		free--
		deltas[free] = *d
	}
	m.end()
	n := start + copy(deltas[start:], deltas[free:])
	clear(deltas[n:])
	return deltas[:n]
}

// absorb merges older into what is kept of its key and reports whether it could.
func (m *merger[T]) absorb(deltas []Delta[T], older *Delta[T]) bool {
	h, ok := m.heads[older.Key]
	if !ok {
		return false
	}
	newer := &deltas[h.at]
	switch {
	case newer.Type == Deleted && older.Type == Deleted:
		if h.present {
			newer.Object = older.Object
			m.heads[older.Key] = head{at: h.at}
		}
		newer.Merged = true
		return true
	case newer.Type == Deleted:
		m.heads[older.Key] = head{at: h.at, present: true}
		newer.Merged = true
		return true
	case older.Type == Deleted:
		newer.Type = Added
		return false // becomes the head in front of newer
	default:
		newer.Type, newer.Merged = older.Type, true
		return true
	}
}

// onlyDeletes keeps, in place, one Deleted for each key that has any: the first
// that was told, with the object that the consumer knew; and a Resync.
func (m *merger[T]) onlyDeletes(deltas []Delta[T]) []Delta[T] {
	m.begin()
	kept := 0
	replaced := false // a replacement was dropped: it may have held any key
	for i := range deltas {
		d := deltas[i]
		h, ok := m.heads[d.Key]
		switch {
		case d.Type == Replaced:
			replaced = true
		case d.Type == Resync:
			deltas[kept] = d
			kept++
		case d.Type == Bookmark:
		case d.Type != Deleted && ok:
			m.heads[d.Key] = head{at: h.at, present: true}
		case d.Type != Deleted:
			m.heads[d.Key] = head{at: nowhere}
		case !ok || h.at == nowhere:
			d.Merged = d.Merged || ok || replaced
			deltas[kept] = d
			m.heads[d.Key] = head{at: kept}
			kept++
		case !h.present && !replaced:
			deltas[h.at].Object, deltas[h.at].Merged = d.Object, true
		}
	}
	m.end()
	clear(deltas[kept:])
	return deltas[:kept]
}

func (m *merger[T]) begin() {
	if m.heads == nil {
		m.heads = make(map[string]head)
	}
}

// end forgets the keys but keeps the map's room, if that is not out of the way.
func (m *merger[T]) end() {
	if len(m.heads) > m.keep {
		m.heads = nil
	}
	clear(m.heads)
}
