package indexer

// array is a persistent array of blocks: a tree of fixed shape. A copy of it by
// value stays as it is, because the writer copies the path to a block before it
// writes there, unless the batch in progress made it: nodes whose owner is the
// current generation have been seen by nobody yet.
//
// The fan-outs balance what a write copies against the steps of a read.
type array[B any] struct {
	owner uint64
	root  []*branch[B]
}

const (
	twigBits   = 4
	branchBits = 4

	rootShift = branchBits + twigBits
)

type branch[B any] struct {
	owner uint64
	twigs [1 << branchBits]*twig[B]
}

type twig[B any] struct {
	owner  uint64
	leaves [1 << twigBits]*leaf[B]
}

type leaf[B any] struct {
	owner uint64
	block B
}

// at returns block i, which extend must have made.
func (a *array[B]) at(i uint32) *B {
	t := a.root[i>>rootShift].twigs[i>>twigBits%(1<<branchBits)]
	return &t.leaves[i%(1<<twigBits)].block
}

// edit returns block i for writing in the given generation.
func (a *array[B]) edit(i uint32, generation uint64) *B {
	if a.owner != generation {
		a.root = append(make([]*branch[B], 0, len(a.root)), a.root...)
		a.owner = generation
	}
	b := &a.root[i>>rootShift]
	if (*b).owner != generation {
		mine := **b
		mine.owner = generation
		*b = &mine
	}
	t := &(*b).twigs[i>>twigBits%(1<<branchBits)]
	if (*t).owner != generation {
		mine := **t
		mine.owner = generation
		*t = &mine
	}
	l := &(*t).leaves[i%(1<<twigBits)]
	if (*l).owner != generation {
		mine := **l
		mine.owner = generation
		*l = &mine
	}
	return &(*l).block
}

// extend adds block i, all zero, which must be the first that is not there. It
// writes to nodes that snapshots share, but only where none of them ever looks:
// behind the blocks that they know.
func (a *array[B]) extend(i uint32, generation uint64) *B {
	if int(i>>rootShift) == len(a.root) {
		a.root = append(a.root, &branch[B]{owner: generation})
	}
	t := &a.root[i>>rootShift].twigs[i>>twigBits%(1<<branchBits)]
	if *t == nil {
		*t = &twig[B]{owner: generation}
	}
	l := &leaf[B]{owner: generation}
	(*t).leaves[i%(1<<twigBits)] = l
	return &l.block
}
