package indexer

// array is a persistent array: a tree of fixed shape over blocks of elements. A
// copy of it by value stays as it is, because the writer copies the path to a
// block before it writes there, unless the batch in progress made it: nodes whose
// owner is the current generation have been seen by nobody yet.
//
// The fan-outs balance what a write copies against the steps of a read.
type array[E any] struct {
	owner uint64
	root  []*branch[E]
}

const (
	leafBits   = 4
	leafSize   = 1 << leafBits // elements in a leaf
	twigBits   = 4
	branchBits = 5

	twigShift   = leafBits
	branchShift = twigShift + twigBits
	rootShift   = branchShift + branchBits
)

type branch[E any] struct {
	owner uint64
	twigs [1 << branchBits]*twig[E]
}

type twig[E any] struct {
	owner  uint64
	leaves [1 << twigBits]*leaf[E]
}

type leaf[E any] struct {
	owner    uint64
	elements [leafSize]E
}

// at returns element i, which edit must have made.
func (a *array[E]) at(i uint32) *E { return &a.leaf(i).elements[i%leafSize] }

// leaf returns the leaf that holds element i.
func (a *array[E]) leaf(i uint32) *leaf[E] {
	t := a.root[i>>rootShift].twigs[i>>branchShift%(1<<branchBits)]
	return t.leaves[i>>twigShift%(1<<twigBits)]
}

// edit returns element i for writing in the given generation. A new element, the
// zero value at first, must follow one that is there.
func (a *array[E]) edit(i uint32, generation uint64) *E {
	if a.owner != generation {
		a.root = append(make([]*branch[E], 0, len(a.root)+1), a.root...)
		a.owner = generation
	}
	if int(i>>rootShift) == len(a.root) {
		a.root = append(a.root, nil)
	}
	b := &a.root[i>>rootShift]
	if *b == nil || (*b).owner != generation {
		*b = own(*b)
		(*b).owner = generation
	}
	t := &(*b).twigs[i>>branchShift%(1<<branchBits)]
	if *t == nil || (*t).owner != generation {
		*t = own(*t)
		(*t).owner = generation
	}
	l := &(*t).leaves[i>>twigShift%(1<<twigBits)]
	if *l == nil || (*l).owner != generation {
		*l = own(*l)
		(*l).owner = generation
	}
	return &(*l).elements[i%leafSize]
}

// own returns a copy of *node, or a zero one if there is none.
func own[N any](node *N) *N {
	mine := new(N)
	if node != nil {
		*mine = *node
	}
	return mine
}
