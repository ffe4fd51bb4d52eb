package indexer

import (
	"hash/maphash"
	"reflect"
)

// A view is an immutable map from K to V in which every key also has a number,
// its id (never 0):
//
//	key ── hash ──▶ id ──▶ key, value
//
// Both arrows go through persistent arrays. Replacing a value copies four small
// nodes, and whoever needs to refer to a key many times, such as an index, stores
// four bytes. Hashes contain no pointers, so the garbage collector does not look
// into them.
//
// A view is a plain value; copying it copies a few words.
type view[K comparable, V any] struct {
	hashes array[hashes]
	slots  array[slots[K, V]]
	mask   uint32 // number of places for hashes, a power of two, minus one
	next   uint32 // lowest id never used
	length int    // live keys
}

// hashes holds hash<<32 | id of keys, 0 where there is none: open addressing with
// linear probing, beginning at the place in which the hash ends.
type hashes [perBlock]uint64

// slots holds keys and values by id. Keys are apart because they hardly ever
// change: a new value copies the values only.
type slots[K comparable, V any] struct {
	keys   *keys[K]
	values [perBlock]V
}

type keys[K comparable] struct {
	owner uint64
	keys  [perBlock]K
}

const (
	blockBits = 4
	perBlock  = 1 << blockBits
)

// Hashes get twice the places when more than fillMax of fillOf are taken.
const (
	fillMax = 13
	fillOf  = 16
)

// seed makes hashes, and so collisions, unpredictable for whoever names objects.
var seed = maphash.MakeSeed()

func hashOf[K comparable](key K) uint32 { return uint32(maphash.Comparable(seed, key)) }

// find returns id and value of key, or 0 and nil.
func (v *view[K, V]) find(key K) (uint32, *V) {
	hash := hashOf(key)
	for place := hash & v.mask; ; place = (place&^(perBlock-1) + perBlock) & v.mask {
		for _, entry := range v.hashes.at(place >> blockBits)[place%perBlock:] {
			if entry == 0 {
				return 0, nil
			}
			if uint32(entry>>32) != hash {
				continue
			}
			id := uint32(entry)
			if at := v.slots.at(id >> blockBits); at.keys.keys[id%perBlock] == key {
				return id, &at.values[id%perBlock]
			}
		}
	}
}

// key returns the key of a live id.
func (v *view[K, V]) key(id uint32) K { return v.slots.at(id >> blockBits).keys.keys[id%perBlock] }

// value returns the value of a live id.
func (v *view[K, V]) value(id uint32) V { return v.slots.at(id >> blockBits).values[id%perBlock] }

// together returns keys and values of the live ids from id on that lie in one
// block, at most n.
func (v *view[K, V]) together(id, n uint32) ([]K, []V) {
	at, from := v.slots.at(id>>blockBits), id%perBlock
	to := min(from+n, perBlock)
	return at.keys.keys[from:to], at.values[from:to]
}

// entry returns what is under an id. An id that is free has no value, but a live
// one may have the zero value, too.
func (v *view[K, V]) entry(id uint32) (key K, value V, live bool) {
	if id == 0 || id >= v.next {
		return key, value, false
	}
	at := v.slots.at(id >> blockBits)
	key, value, live = at.keys.keys[id%perBlock], at.values[id%perBlock], true
	if reflect.ValueOf(&value).Elem().IsZero() {
		found, _ := v.find(key)
		live = found == id
	}
	return key, value, live
}

// ids yields every live id in no particular order.
func (v *view[K, V]) ids(yield func(uint32) bool) {
	for block := uint32(0); block <= v.mask>>blockBits; block++ {
		for _, entry := range v.hashes.at(block) {
			if entry != 0 && !yield(uint32(entry)) {
				return
			}
		}
	}
}

// table is the writer's side of a view, which may be handed out by value once
// the generation has moved on.
type table[K comparable, V any] struct {
	view[K, V]
	generation *uint64  // shared by all tables of a state
	free       []uint32 // ids to use again
}

// newTable returns an empty table with room for n keys.
func newTable[K comparable, V any](generation *uint64, n int) table[K, V] {
	t := table[K, V]{view: view[K, V]{next: 1}, generation: generation}
	t.slots.extend(0, *generation).keys = &keys[K]{owner: *generation}
	places := perBlock
	for places*fillMax < n*fillOf {
		places *= 2
	}
	t.setPlaces(uint32(places))
	return t
}

// setPlaces makes the given number of empty places for hashes.
func (t *table[K, V]) setPlaces(n uint32) {
	t.hashes = array[hashes]{}
	t.mask = n - 1
	for block := range n >> blockBits {
		t.hashes.extend(block, *t.generation)
	}
}

// insert adds a key that is not in the table and returns its id.
func (t *table[K, V]) insert(key K, value V) uint32 {
	t.length++
	if t.length*fillOf > (int(t.mask)+1)*fillMax {
		t.double()
	}
	var id uint32
	if n := len(t.free); n > 0 {
		id = t.free[n-1]
		t.free = t.free[:n-1]
		t.reuse(id, key, value)
	} else {
		id = t.next
		t.next++
		t.append(id, key, value)
	}
	t.insertHash(hashOf(key), id)
	return id
}

// append writes a new id. No snapshot ever looks at an id that it does not know,
// so nothing needs to be copied.
func (t *table[K, V]) append(id uint32, key K, value V) {
	var at *slots[K, V]
	if id%perBlock == 0 {
		at = t.slots.extend(id>>blockBits, *t.generation)
		at.keys = &keys[K]{owner: *t.generation}
	} else {
		at = t.slots.at(id >> blockBits)
	}
	at.keys.keys[id%perBlock] = key
	at.values[id%perBlock] = value
}

// reuse writes an id that snapshots may know under another key.
func (t *table[K, V]) reuse(id uint32, key K, value V) {
	at := t.slots.edit(id>>blockBits, *t.generation)
	if at.keys.owner != *t.generation {
		at.keys = &keys[K]{owner: *t.generation, keys: at.keys.keys}
	}
	at.keys.keys[id%perBlock] = key
	at.values[id%perBlock] = value
}

// edit returns the value of a live id for writing.
func (t *table[K, V]) edit(id uint32) *V {
	return &t.slots.edit(id>>blockBits, *t.generation).values[id%perBlock]
}

// remove deletes a live id, which may be used again for another key; until then
// its key stays where it is, to save a copy, and key still returns it.
func (t *table[K, V]) remove(id uint32) {
	var none V
	*t.edit(id) = none
	t.removeHash(hashOf(t.key(id)), id)
	t.free = append(t.free, id)
	t.length--
}

// rollback makes the table that of an earlier view. What was appended since then
// lies where the view does not look, and is written over.
func (t *table[K, V]) rollback(v view[K, V]) {
	t.view = v
	live := make([]bool, v.next)
	for id := range v.ids {
		live[id] = true
	}
	t.free = t.free[:0]
	for id := uint32(1); id < v.next; id++ {
		if !live[id] {
			t.free = append(t.free, id)
		}
	}
}

// place returns what is at a place.
func (t *table[K, V]) place(i uint32) uint64 { return t.hashes.at(i >> blockBits)[i%perBlock] }

// setPlace changes what is at a place.
func (t *table[K, V]) setPlace(i uint32, entry uint64) {
	t.hashes.edit(i>>blockBits, *t.generation)[i%perBlock] = entry
}

func (t *table[K, V]) insertHash(hash, id uint32) {
	at := hash & t.mask
	for t.place(at) != 0 {
		at = (at + 1) & t.mask
	}
	t.setPlace(at, uint64(hash)<<32|uint64(id))
}

// removeHash leaves no hole between an entry and the place where looking for it
// begins: entries behind the hole move up if that does not bring them in front of
// their own beginning.
func (t *table[K, V]) removeHash(hash, id uint32) {
	hole := hash & t.mask
	for uint32(t.place(hole)) != id {
		hole = (hole + 1) & t.mask
	}
	for at := (hole + 1) & t.mask; ; at = (at + 1) & t.mask {
		entry := t.place(at)
		if entry == 0 {
			break
		}
		begin := uint32(entry>>32) & t.mask
		if (at-begin)&t.mask >= (at-hole)&t.mask {
			t.setPlace(hole, entry)
			hole = at
		}
	}
	t.setPlace(hole, 0)
}

// double gives the keys twice as many places. It needs their hashes only, some
// tens of nanoseconds a key.
func (t *table[K, V]) double() {
	old, count := t.hashes, t.mask+1
	t.setPlaces(2 * count)
	for block := range count >> blockBits {
		for _, entry := range old.at(block) {
			if entry != 0 {
				t.insertHash(uint32(entry>>32), uint32(entry))
			}
		}
	}
}
