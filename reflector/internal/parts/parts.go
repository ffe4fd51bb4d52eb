package parts

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Part is a piece of a message and what it was decoded to. It does not change.
type Part struct {
	// Raw are the bytes. Strings and byte slices of the value may be parts of them.
	Raw string
	// Value is what Len and it together mean to whoever added it.
	Value unsafe.Pointer
	Len   int
	// Size is how many bytes of memory the Part keeps alive, Raw included and the
	// Sizes of other Parts that it has in it: these may be dropped before it is.
	Size int

	key Key
}

// Key is under what a Part is kept: its kind, which says how its bytes are decoded,
// and a hash of both.
type Key struct {
	kind uintptr
	hash uint64
}

const (
	// overhead is what a Part costs besides its Size.
	overhead = int64(unsafe.Sizeof(Part{}))
	// usualSize is what a Part takes on average: it decides how many there can be.
	usualSize = 512
	// fewest sets that a Table has.
	fewest = 16
	// ways are the places where a Part may be.
	ways = 4
	// marks are kept for each set.
	marks = 8
)

// Table remembers Parts.
type Table struct {
	limit int64
	hash  func(raw []byte) uint64
	most  int // sets

	size    atomic.Int64 // of all Parts
	places  atomic.Pointer[places]
	growing atomic.Bool
}

// places is where Parts and marks are.
type places struct {
	sets  []set
	shift int          // of a hash, to the number of its set
	fresh atomic.Int64 // marks and Parts made since these places are in use
	hand  atomic.Int64 // the set where room is looked for next
}

// set has the Parts whose hashes begin alike. Tags are zero where there is none:
// else the end of the Part's hash, so that few Parts are looked into, and whether
// it was found lately. Marks are tags of what came, but is no Part.
type set struct {
	tags  [ways]atomic.Uint32
	marks [marks]atomic.Uint32
	parts [ways]atomic.Pointer[Part]
}

// found is the bit of a tag that says that the Part was found lately.
const found = 1

// New returns a Table whose Parts take up to limit bytes.
func New(limit int) *Table {
	seed := maphash.MakeSeed()
	t := &Table{
		limit: int64(limit), most: max(fewest, 1<<bits.Len(uint(limit/usualSize/ways))/2),
		hash: func(raw []byte) uint64 { return maphash.Bytes(seed, raw) },
	}
	t.places.Store(newPlaces(fewest))
	return t
}

func newPlaces(sets int) *places {
	return &places{sets: make([]set, sets), shift: 64 - bits.Len(uint(sets-1))}
}

func (p *places) set(hash uint64) *set { return &p.sets[hash>>p.shift] }

// tag is that of a Part that was not found yet.
func tag(hash uint64) uint32 { return uint32(hash)&^found | 2 }

// Find returns the Part of a kind that has these bytes, nil if it is not known.
func (t *Table) Find(kind uintptr, raw []byte) (*Part, Key) {
	key := Key{kind, t.hash(raw) ^ uint64(kind)*0x9e3779b97f4a7c15}
	set := t.places.Load().set(key.hash)
	for i := range set.tags {
		is := set.tags[i].Load()
		if is&^found != tag(key.hash) {
			continue
		}
		if p := set.parts[i].Load(); p != nil && p.key == key && p.Raw == string(raw) {
			if is&found == 0 {
				set.tags[i].CompareAndSwap(is, is|found)
			}
			return p, key
		}
	}
	return nil, key
}

// Again reports whether it was asked about key before, not too long ago. What
// comes once need not be added.
func (t *Table) Again(key Key) bool {
	places := t.places.Load()
	set := places.set(key.hash)
	for i := range set.marks {
		if set.marks[i].Load() == tag(key.hash) {
			return true
		}
	}
	set.marks[places.fresh.Load()%marks].Store(tag(key.hash)) // as good as any, and not always the same
	t.made(places)
	return false
}

// Fits reports whether a Part of so many bytes may be added: none may take up much
// of the Table.
func (t *Table) Fits(bytes int) bool { return int64(bytes) <= t.limit/64 }

// Add remembers a Part, for which Find returned key. It must not be changed any
// more.
func (t *Table) Add(key Key, part *Part) {
	part.key = key
	cost := int64(part.Size) + overhead
	places := t.places.Load()
	if !t.Fits(part.Size) || !t.makeRoom(places, cost) {
		return
	}
	set := places.set(key.hash)
	at := set.put(part)
	if t.dropped(at.Swap(part)); t.places.Load() != places && at.CompareAndSwap(part, nil) { // too late to be taken along
		t.dropped(part)
	}
	t.made(places)
}

// put returns where a part is to be stored, which may replace another: where none
// is, or else one that was not found lately.
func (s *set) put(part *Part) *atomic.Pointer[Part] {
	at := s.place()
	s.tags[at].Store(tag(part.key.hash))
	return &s.parts[at]
}

func (s *set) place() int {
	for i := range s.tags {
		if s.tags[i].Load() == 0 {
			return i
		}
	}
	for i := range s.tags {
		if !s.found(i) {
			return i
		}
	}
	return 0
}

// found reports whether a Part was found since this was asked last.
func (s *set) found(i int) bool {
	is := s.tags[i].Load()
	return is&found != 0 && s.tags[i].CompareAndSwap(is, is&^found)
}

// dropped takes a Part out of the sum.
func (t *Table) dropped(part *Part) {
	if part != nil {
		t.size.Add(-int64(part.Size) - overhead)
	}
}

// makeRoom adds cost to the sum, if it can be made not to exceed the limit.
func (t *Table) makeRoom(places *places, cost int64) bool {
	const steps = 32
	for range steps {
		if t.size.Add(cost) <= t.limit {
			return true
		}
		t.size.Add(-cost)
		set := &places.sets[int(places.hand.Add(1))&(len(places.sets)-1)]
		for i := range set.parts {
			if p := set.parts[i].Load(); p != nil && !set.found(i) && set.parts[i].CompareAndSwap(p, nil) {
				set.tags[i].Store(0)
				t.dropped(p)
			}
		}
	}
	return false
}

// made counts what was put into places, and goes over to larger ones when that is
// as much as they hold.
func (t *Table) made(old *places) {
	fresh := old.fresh.Add(1)
	if len(old.sets) >= t.most || fresh < int64(len(old.sets)*marks) || !t.growing.CompareAndSwap(false, true) {
		return
	}
	defer t.growing.Store(false)
	if t.places.Load() != old {
		return
	}
	grown := newPlaces(2 * len(old.sets))
	for i := range old.sets {
		for j := range old.sets[i].marks { // of which set, is not known
			mark := old.sets[i].marks[j].Load()
			grown.sets[2*i].marks[j].Store(mark)
			grown.sets[2*i+1].marks[j].Store(mark)
		}
	}
	t.places.Store(grown)
	// From now on others add to the new ones.
	for i := range old.sets {
		for j := range old.sets[i].parts {
			if p := old.sets[i].parts[j].Swap(nil); p != nil {
				t.dropped(grown.set(p.key.hash).put(p).Swap(p))
			}
		}
	}
}
