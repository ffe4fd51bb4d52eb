package indexer

import "slices"

// idNode is a node of a persistent B+ tree of ids in the order of their keys,
// which are looked up in a view. A nil *idNode is the empty tree. The tree under
// a node stays as it is, because the writer copies nodes that the batch in
// progress does not own (see array).
type idNode struct {
	owner uint64
	size  int32 // ids in the whole subtree
	// dense says of a leaf that its ids are consecutive numbers; not of every such.
	dense bool
	// Invariant: 1 to idLeafMax ids without children; or 1 to idInnerMax children
	// and as many ids, each the first of its child. ids[0] is thus the first of
	// the whole subtree.
	ids      []uint32
	children []*idNode
}

// Small nodes make insertions cheap, large ones walks.
const (
	idLeafMax  = 64
	idInnerMax = 32
)

func (n *idNode) limit() int {
	if n.children != nil {
		return idInnerMax
	}
	return idLeafMax
}

// each calls visit for every id of the tree.
func (n *idNode) each(visit func(id uint32)) {
	if n.children == nil {
		for _, id := range n.ids {
			visit(id)
		}
	}
	for _, child := range n.children {
		child.each(visit)
	}
}

// lowerBound returns where in ids the first key >= key is.
func lowerBound[T any](ids []uint32, v *view[string, T], key string) int {
	low, high := 0, len(ids)
	for low < high {
		middle := int(uint(low+high) / 2)
		if v.key(ids[middle]) < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// childOf returns which child of n the place of key is in.
func childOf[T any](n *idNode, v *view[string, T], key string) int {
	i := lowerBound(n.ids, v, key)
	if i == len(n.ids) || i > 0 && v.key(n.ids[i]) != key {
		return i - 1
	}
	return i
}

// idTree edits trees of ids of one view in one generation.
type idTree[T any] struct {
	keys       *view[string, T]
	generation uint64
}

// build returns the tree of ids, which are in the order of their keys. It takes
// over the slice.
func (e idTree[T]) build(ids []uint32) *idNode {
	var level []*idNode
	for len(ids) > 0 {
		// Leaves of ids that come in order begin where blocks do.
		n := min(len(ids), idLeafMax-int(ids[0]%perBlock))
		part := ids[:n:n]
		ids = ids[n:]
		level = append(level, &idNode{owner: e.generation, size: int32(n), dense: consecutive(part), ids: part})
	}
	for len(level) > 1 {
		var above []*idNode
		for children := range slices.Chunk(level, idInnerMax) {
			n := &idNode{owner: e.generation, children: children}
			for _, child := range children {
				n.ids = append(n.ids, child.ids[0])
				n.size += child.size
			}
			above = append(above, n)
		}
		level = above
	}
	if len(level) == 0 {
		return nil
	}
	return level[0]
}

func consecutive(ids []uint32) bool {
	for k, id := range ids {
		if id != ids[0]+uint32(k) {
			return false
		}
	}
	return true
}

// insert returns root with id, whose key is in the view already.
func (e idTree[T]) insert(root *idNode, id uint32) *idNode {
	if root == nil {
		return &idNode{owner: e.generation, size: 1, dense: true, ids: []uint32{id}}
	}
	left, right := e.insertInto(root, id, e.keys.key(id))
	if right == nil {
		return left
	}
	return &idNode{
		owner: e.generation, size: left.size + right.size,
		ids: []uint32{left.ids[0], right.ids[0]}, children: []*idNode{left, right},
	}
}

// insertInto returns the node in n's place and, if it had to be split, the one
// to its right.
func (e idTree[T]) insertInto(n *idNode, id uint32, key string) (left, right *idNode) {
	n = e.own(n)
	n.size++
	var at int
	if n.children == nil {
		at = len(n.ids)
		if key < e.keys.key(n.ids[at-1]) { // ids often come in order
			at = lowerBound(n.ids, e.keys, key)
		}
		n.dense = n.dense && at == len(n.ids) && id == n.ids[at-1]+1
		n.ids = slices.Insert(n.ids, at, id)
	} else {
		at = childOf(n, e.keys, key)
		child, next := e.insertInto(n.children[at], id, key)
		n.children[at], n.ids[at] = child, child.ids[0]
		if next == nil {
			return n, nil
		}
		at++
		n.children = slices.Insert(n.children, at, next)
		n.ids = slices.Insert(n.ids, at, next.ids[0])
	}
	if len(n.ids) <= n.limit() {
		return n, nil
	}
	cut := len(n.ids) / 2
	if at == len(n.ids)-1 {
		cut = at // ids that come in order leave full nodes behind
	}
	return n, e.split(n, cut)
}

// split moves what is from cut on to a new node.
func (e idTree[T]) split(n *idNode, cut int) *idNode {
	right := &idNode{owner: e.generation, dense: n.dense, ids: slices.Clone(n.ids[cut:])}
	right.size = int32(len(right.ids))
	n.ids = n.ids[:cut]
	if n.children != nil {
		right.children = slices.Clone(n.children[cut:])
		clear(n.children[cut:])
		n.children = n.children[:cut]
		right.size = 0
		for _, child := range right.children {
			right.size += child.size
		}
	}
	n.size -= right.size
	return right
}

// remove returns root without id, which is in it and whose key is still in the
// view.
func (e idTree[T]) remove(root *idNode, id uint32) *idNode {
	root = e.removeFrom(root, id, e.keys.key(id))
	for root != nil && len(root.children) == 1 {
		root = root.children[0]
	}
	return root
}

// removeFrom returns the node in n's place, nil if nothing is left of it.
func (e idTree[T]) removeFrom(n *idNode, id uint32, key string) *idNode {
	if n.children == nil {
		if len(n.ids) == 1 {
			return nil
		}
		n = e.own(n)
		n.size--
		at := slices.Index(n.ids, id) // quicker than by key
		n.dense = n.dense && (at == 0 || at == len(n.ids)-1)
		n.ids = slices.Delete(n.ids, at, at+1)
		return n
	}
	at := childOf(n, e.keys, key)
	child := e.removeFrom(n.children[at], id, key)
	if child == nil && len(n.ids) == 1 {
		return nil
	}
	n = e.own(n)
	n.size--
	if child == nil {
		n.drop(at)
		return n
	}
	n.children[at], n.ids[at] = child, child.ids[0]
	if at > 0 {
		at--
	}
	e.join(n, at)
	return n
}

// join merges a child with the one to its right if both are small.
func (e idTree[T]) join(n *idNode, at int) {
	if at+1 >= len(n.children) {
		return
	}
	left, right := n.children[at], n.children[at+1]
	if len(left.ids)+len(right.ids) > left.limit()/2 {
		return
	}
	left = e.own(left)
	left.size += right.size
	left.dense = false
	left.ids = append(left.ids, right.ids...)
	left.children = append(left.children, right.children...)
	n.children[at] = left
	n.drop(at + 1)
}

func (n *idNode) drop(at int) {
	n.ids = slices.Delete(n.ids, at, at+1)
	n.children = slices.Delete(n.children, at, at+1)
}

// own returns n, or a copy of it, for writing.
func (e idTree[T]) own(n *idNode) *idNode {
	if n.owner == e.generation {
		return n
	}
	mine := &idNode{owner: e.generation, size: n.size, dense: n.dense, ids: append(make([]uint32, 0, len(n.ids)+1), n.ids...)}
	if n.children != nil {
		mine.children = append(make([]*idNode, 0, len(n.children)+1), n.children...)
	}
	return mine
}
