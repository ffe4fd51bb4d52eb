package indexer

import "slices"

// idList is a persistent list of ids in the order of their keys: pointerless
// chunks behind one slice. A copy of it by value stays as it is, because the
// writer copies what the batch in progress does not own (see table).
type idList struct {
	owner  uint64 // generation that may write to chunks
	chunks []*idChunk
}

// chunkMax balances the two copies of an insertion, chunk and list of chunks,
// for some 100,000 ids; both grow with the root of the number.
const chunkMax = 512

type idChunk struct {
	owner uint64
	ids   []uint32 // Invariant: 1 to chunkMax
}

// position is a place in an idList: the id there, or one before which to insert.
type position struct{ chunk, offset int }

// lowerBound returns the place of the first id whose key is >= key.
func lowerBound[V any](l *idList, v *view[V], key string) position {
	// The last chunk that begins before key, or the first of all.
	low, high := 0, len(l.chunks)
	for low < high {
		middle := (low + high) / 2
		if v.at(l.chunks[middle].ids[0]).key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 {
		return position{}
	}
	c := low - 1
	ids := l.chunks[c].ids
	low, high = 1, len(ids)
	for low < high {
		middle := (low + high) / 2
		if v.at(ids[middle]).key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return position{c, low}
}

// insertID adds id, whose key is in v already, to a list without it.
func insertID[V any](l *idList, v *view[V], generation uint64, id uint32) {
	l.own(generation)
	if len(l.chunks) == 0 {
		l.chunks = append(l.chunks, &idChunk{owner: generation, ids: []uint32{id}})
		return
	}
	key := v.at(id).key
	last := len(l.chunks) - 1
	lastIDs := l.chunks[last].ids
	at := position{last, len(lastIDs)}
	if key < v.at(lastIDs[len(lastIDs)-1]).key {
		at = lowerBound(l, v, key)
	} else if len(lastIDs) == chunkMax {
		// Ids that come in order leave full chunks behind.
		l.chunks = append(l.chunks, &idChunk{owner: generation, ids: []uint32{id}})
		return
	}
	c := l.edit(at.chunk, generation)
	c.ids = slices.Insert(c.ids, at.offset, id)
	if len(c.ids) > chunkMax {
		half := len(c.ids) / 2
		right := &idChunk{owner: generation, ids: slices.Clone(c.ids[half:])}
		c.ids = c.ids[:half]
		l.chunks = slices.Insert(l.chunks, at.chunk+1, right)
	}
}

// removeID takes id, whose key is still in v, out of a list that holds it.
func removeID[V any](l *idList, v *view[V], generation uint64, id uint32) {
	at := lowerBound(l, v, v.at(id).key)
	if at.offset == len(l.chunks[at.chunk].ids) {
		at = position{at.chunk + 1, 0}
	}
	l.own(generation)
	c := l.edit(at.chunk, generation)
	c.ids = slices.Delete(c.ids, at.offset, at.offset+1)
	if len(c.ids) == 0 {
		l.chunks = slices.Delete(l.chunks, at.chunk, at.chunk+1)
		return
	}
	if len(c.ids) < chunkMax/4 && at.chunk+1 < len(l.chunks) {
		next := l.chunks[at.chunk+1].ids
		if len(c.ids)+len(next) <= chunkMax*3/4 {
			c.ids = append(c.ids, next...)
			l.chunks = slices.Delete(l.chunks, at.chunk+1, at.chunk+2)
		}
	}
}

// own makes the slice of chunks writable.
func (l *idList) own(generation uint64) {
	if l.owner != generation {
		l.chunks = append(make([]*idChunk, 0, len(l.chunks)+1), l.chunks...)
		l.owner = generation
	}
}

// edit makes a chunk writable, in a list that is.
func (l *idList) edit(chunk int, generation uint64) *idChunk {
	c := l.chunks[chunk]
	if c.owner != generation {
		c = &idChunk{owner: generation, ids: append(make([]uint32, 0, len(c.ids)+1), c.ids...)}
		l.chunks[chunk] = c
	}
	return c
}

// each yields the slots of the ids from one place up to another.
func each[V any](l *idList, v *view[V], from, to position, yield func(string, V) bool) {
	var current *leaf[V]
	number := ^uint32(0) // of the current leaf; ids in order share leaves
	for c := from.chunk; c <= to.chunk && c < len(l.chunks); c++ {
		ids := l.chunks[c].ids
		if c == to.chunk {
			ids = ids[:to.offset]
		}
		if c == from.chunk {
			ids = ids[from.offset:]
		}
		for _, id := range ids {
			if id>>leafBits != number {
				number = id >> leafBits
				current = v.leaf(id)
			}
			s := &current.slots[id%leafSize]
			if !yield(s.key, s.value) {
				return
			}
		}
	}
}

// end is the place after the last id.
func (l *idList) end() position { return position{chunk: len(l.chunks)} }

// length counts the ids.
func (l *idList) length() int {
	n := 0
	for _, c := range l.chunks {
		n += len(c.ids)
	}
	return n
}
