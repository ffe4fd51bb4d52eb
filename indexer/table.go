package indexer

import "hash/maphash"

// A view is an immutable map from string to V in which every key also has a
// number, its id (never 0):
//
//	key ── hash ──▶ bucket ──▶ id ──▶ slot{key, value}
//
// Both arrows go through persistent arrays. Replacing a value touches slots only
// (four small copies), and whoever needs to refer to a key many times, such as
// an index, stores four bytes. Buckets contain no pointers, so the garbage
// collector does not look into them.
//
// A view is a plain value; copying it copies a few words.
type view[V any] struct {
	buckets array[bucket]
	slots   array[slot[V]]
	mask    uint32 // number of buckets, a power of two, minus one
	length  int    // live keys
}

// bucket holds hash<<32 | id of the keys whose hash ends in the bucket's number.
// It is only ever appended to or made anew, so one with fewer entries may share
// its array.
type bucket []uint64

// bucketFill is the mean number of keys per bucket above which buckets are
// doubled; bucketRoom entries, which a bucket has room for at first, are a cache
// line.
const (
	bucketFill = 6
	bucketRoom = 8
)

type slot[V any] struct {
	key   string
	value V
}

// seed makes hashes, and so collisions, unpredictable for whoever names objects.
var seed = maphash.MakeSeed()

func hashOf(key string) uint32 { return uint32(maphash.String(seed, key)) }

// find returns the id and slot of key, or 0 and nil.
func (v *view[V]) find(key string) (uint32, *slot[V]) {
	hash := hashOf(key)
	for _, entry := range *v.buckets.at(hash & v.mask) {
		if uint32(entry>>32) == hash {
			if s := v.slots.at(uint32(entry)); s.key == key {
				return uint32(entry), s
			}
		}
	}
	return 0, nil
}

// key returns the key of a live id.
func (v *view[V]) key(id uint32) string { return v.slots.at(id).key }

// ids yields every live id in no particular order.
func (v *view[V]) ids(yield func(uint32) bool) {
	for i := uint32(0); i <= v.mask; i++ {
		for _, entry := range *v.buckets.at(i) {
			if !yield(uint32(entry)) {
				return
			}
		}
	}
}

// table is the writer's side of a view, which may be handed out by value once
// the generation has moved on.
type table[V any] struct {
	view[V]
	generation *uint64  // shared by all tables of a state
	next       uint32   // lowest id never used
	free       []uint32 // ids to use again
}

// newTable returns an empty table with room for n keys.
func newTable[V any](generation *uint64, n int) table[V] {
	t := table[V]{generation: generation, next: 1}
	t.slots.edit(0, *generation)
	count := uint32(1)
	for int(count)*bucketFill < n {
		count *= 2
	}
	t.setBuckets(count)
	return t
}

// setBuckets makes count empty buckets.
func (t *table[V]) setBuckets(count uint32) {
	t.buckets = array[bucket]{}
	t.mask = count - 1
	// One piece for all instead of several small ones each: most never outgrow it.
	room := make(bucket, count*bucketRoom)
	for i := range count {
		at := i * bucketRoom
		*t.buckets.edit(i, *t.generation) = room[at : at : at+bucketRoom]
	}
}

// insert adds a key that is not in the table and returns its id.
func (t *table[V]) insert(key string, value V) uint32 {
	id := t.next
	if n := len(t.free); n > 0 {
		id = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		t.next++
	}
	*t.edit(id) = slot[V]{key: key, value: value}
	t.length++
	if t.length > (int(t.mask)+1)*bucketFill {
		t.double()
	}
	t.insertHash(hashOf(key), id)
	return id
}

// edit returns the slot of id for writing.
func (t *table[V]) edit(id uint32) *slot[V] { return t.slots.edit(id, *t.generation) }

// remove deletes a live id, which may be used again for another key.
func (t *table[V]) remove(id uint32) {
	s := t.edit(id)
	hash := hashOf(s.key)
	b := t.buckets.edit(hash&t.mask, *t.generation)
	rest := make(bucket, 0, len(*b))
	for _, entry := range *b {
		if uint32(entry) != id {
			rest = append(rest, entry)
		}
	}
	*b = rest
	*s = slot[V]{}
	t.free = append(t.free, id)
	t.length--
}

func (t *table[V]) insertHash(hash, id uint32) {
	b := t.buckets.edit(hash&t.mask, *t.generation)
	*b = append(*b, uint64(hash)<<32|uint64(id))
}

// double gives the keys twice as many buckets. It needs their hashes only, some
// tens of nanoseconds a key.
func (t *table[V]) double() {
	old, count := t.buckets, t.mask+1
	t.setBuckets(2 * count)
	for i := range count {
		for _, entry := range *old.at(i) {
			t.insertHash(uint32(entry>>32), uint32(entry))
		}
	}
}
