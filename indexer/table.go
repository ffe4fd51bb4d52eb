package indexer

import "hash/maphash"

// A view is an immutable map from string to V in which every key also has a
// number, its id (never 0). It is two trees:
//
//	key ── hash ──▶ pages ──▶ id ──▶ vector ──▶ slot{key, value}
//
// Replacing a value touches the vector only (three small copies), and whoever
// needs to refer to a key many times, such as an index, stores four bytes.
// Pages contain no pointers, so the garbage collector does not look into them.
//
// A view is a plain value; copying it copies a few words.
type view[V any] struct {
	// Invariant: pageCount is 0 or a power of two; page p holds the keys whose
	// hash ends in the bits of p.
	directory []*pageGroup
	pageCount uint32
	vector    []*branch[V]
	length    int // live keys
}

const (
	pageBits  = 7
	pageSize  = 1 << pageBits // slots in a page
	groupBits = 5
	groupSize = 1 << groupBits // pages in a group
	// pageFill is the mean number of used slots per page above which pages are
	// doubled; pageMax forces it for a page that chance has filled further.
	pageFill = pageSize * 5 / 8
	pageMax  = pageSize - 8

	leafBits   = 4
	leafSize   = 1 << leafBits // slots in a leaf
	branchBits = 6
	branchSize = 1 << branchBits // leaves in a branch
)

// page is an open-addressing hash table of hash<<32 | id; 0 is free.
type page struct {
	owner uint64 // generation of the batch that may write to it
	used  int
	slots [pageSize]uint64
}

type pageGroup struct {
	owner uint64
	pages [groupSize]*page
}

type slot[V any] struct {
	key   string
	value V
}

type leaf[V any] struct {
	owner uint64
	slots [leafSize]slot[V]
}

type branch[V any] struct {
	owner  uint64
	leaves [branchSize]*leaf[V]
}

// seed makes hashes, and so collisions, unpredictable for whoever names objects.
var seed = maphash.MakeSeed()

func hashOf(key string) uint32 { return uint32(maphash.String(seed, key)) }

// place is where in its page the search for a hash begins; it uses other bits
// than the choice of the page.
func place(hash uint32) uint32 { return hash >> (32 - pageBits) }

func (v *view[V]) page(hash uint32) *page {
	if v.pageCount == 0 {
		return nil
	}
	p := hash & (v.pageCount - 1)
	return v.directory[p>>groupBits].pages[p&(groupSize-1)]
}

// at returns the slot of a live id.
func (v *view[V]) at(id uint32) *slot[V] {
	return &v.leaf(id).slots[id&(leafSize-1)]
}

func (v *view[V]) leaf(id uint32) *leaf[V] {
	return v.vector[id>>(leafBits+branchBits)].leaves[id>>leafBits&(branchSize-1)]
}

// find returns the id and slot of key, or 0 and nil.
func (v *view[V]) find(key string) (uint32, *slot[V]) {
	hash := hashOf(key)
	p := v.page(hash)
	if p == nil {
		return 0, nil
	}
	for i := place(hash); ; i++ {
		entry := p.slots[i%pageSize]
		if entry == 0 {
			return 0, nil
		}
		if uint32(entry>>32) == hash {
			if s := v.at(uint32(entry)); s.key == key {
				return uint32(entry), s
			}
		}
	}
}

// ids yields every live id in no particular order.
func (v *view[V]) ids(yield func(uint32) bool) {
	for _, group := range v.directory {
		for _, p := range group.pages {
			if p == nil {
				continue
			}
			for _, entry := range p.slots {
				if entry != 0 && !yield(uint32(entry)) {
					return
				}
			}
		}
	}
}

// table is the writer's side of a view. Nodes whose owner is the current
// generation were made by the batch in progress, which nobody has seen yet, and
// are changed in place; all others are copied first. The view may be handed out
// by value once the generation has moved on.
type table[V any] struct {
	view[V]
	generation *uint64 // shared by all tables of a state
	directoryOwner,
	vectorOwner uint64
	next uint32   // lowest id never used
	free []uint32 // ids to use again
}

// newTable returns an empty table with room for n keys.
func newTable[V any](generation *uint64, n int) table[V] {
	t := table[V]{generation: generation, next: 1}
	pages := uint32(1)
	for int(pages)*pageFill < n {
		pages *= 2
	}
	t.setPages(pages)
	return t
}

// setPages makes an empty directory of the given number of pages.
func (t *table[V]) setPages(count uint32) {
	t.pageCount = count
	t.directory = make([]*pageGroup, (count+groupSize-1)/groupSize)
	t.directoryOwner = *t.generation
	for i := range t.directory {
		t.directory[i] = &pageGroup{owner: *t.generation}
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
	if t.length > int(t.pageCount)*pageFill {
		t.double()
	}
	t.insertHash(hashOf(key), id)
	return id
}

// remove deletes a live id, which may be used again for another key.
func (t *table[V]) remove(id uint32) {
	s := t.edit(id)
	t.removeHash(hashOf(s.key), id)
	*s = slot[V]{}
	t.free = append(t.free, id)
	t.length--
}

// edit returns the slot of id for writing, making it if there is none.
func (t *table[V]) edit(id uint32) *slot[V] {
	generation := *t.generation
	if t.vectorOwner != generation {
		t.vector = append(make([]*branch[V], 0, len(t.vector)+1), t.vector...)
		t.vectorOwner = generation
	}
	b := int(id >> (leafBits + branchBits))
	if b == len(t.vector) {
		t.vector = append(t.vector, nil)
	}
	br := t.vector[b]
	if br == nil || br.owner != generation {
		br = own(br)
		br.owner = generation
		t.vector[b] = br
	}
	l := &br.leaves[id>>leafBits&(branchSize-1)]
	if *l == nil || (*l).owner != generation {
		*l = own(*l)
		(*l).owner = generation
	}
	return &(*l).slots[id&(leafSize-1)]
}

// own returns a copy of *node, or a zero one if there is none.
func own[N any](node *N) *N {
	mine := new(N)
	if node != nil {
		*mine = *node
	}
	return mine
}

// editPage returns the page of hash for writing.
func (t *table[V]) editPage(hash uint32) *page {
	generation := *t.generation
	if t.directoryOwner != generation {
		t.directory = append(make([]*pageGroup, 0, len(t.directory)), t.directory...)
		t.directoryOwner = generation
	}
	p := hash & (t.pageCount - 1)
	g := &t.directory[p>>groupBits]
	if (*g).owner != generation {
		*g = own(*g)
		(*g).owner = generation
	}
	pg := &(*g).pages[p&(groupSize-1)]
	if *pg == nil || (*pg).owner != generation {
		*pg = own(*pg)
		(*pg).owner = generation
	}
	return *pg
}

func (t *table[V]) insertHash(hash, id uint32) {
	p := t.editPage(hash)
	for p.used >= pageMax {
		t.double()
		p = t.editPage(hash)
	}
	i := place(hash)
	for p.slots[i%pageSize] != 0 {
		i++
	}
	p.slots[i%pageSize] = uint64(hash)<<32 | uint64(id)
	p.used++
}

// removeHash frees the slot of (hash, id) and closes the gap, so that a search
// may go on stopping at the first free slot.
func (t *table[V]) removeHash(hash, id uint32) {
	p := t.editPage(hash)
	i := place(hash)
	for p.slots[i%pageSize] != uint64(hash)<<32|uint64(id) {
		i++
	}
	gap := i % pageSize
	for j := gap + 1; ; j++ {
		entry := p.slots[j%pageSize]
		if entry == 0 {
			break
		}
		// The entry may move into the gap if its search begins at or before it.
		if (j-place(uint32(entry>>32)))%pageSize >= (j-gap)%pageSize {
			p.slots[gap] = entry
			gap = j % pageSize
		}
	}
	p.slots[gap] = 0
	p.used--
}

// double gives the keys twice as many pages. It needs their hashes only, some
// nanoseconds a key.
func (t *table[V]) double() {
	old := t.directory
	t.setPages(2 * t.pageCount)
	for _, group := range old {
		for _, p := range group.pages {
			if p == nil {
				continue
			}
			for _, entry := range p.slots {
				if entry != 0 {
					t.insertHash(uint32(entry>>32), uint32(entry))
				}
			}
		}
	}
}
