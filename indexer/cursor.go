package indexer

// cursor walks along a tree of ids in key order, without allocating. It yields
// runs of consecutive ids: in what was listed in key order, neighbours in order are
// mostly neighbours in memory too.
//
//	for c.start(objects, root, from, to); c.next(); {
//		for id, n := c.first, c.count; n > 0; {
//			keys, values := objects.together(id, n)
//			id, n = id+len(keys), n-len(keys)
//		}
//	}
type cursor[T any] struct {
	first, count uint32 // the run at hand

	objects *view[string, T]
	to      string   // walk up to the first key >= to, if not empty
	ids     []uint32 // of the leaf at hand, still to come
	dense   bool     // they are consecutive numbers
	path    [maxHeight]step
	depth   int // of path
}

// step is an inner node on the way to the leaf at hand, and its next child.
type step struct {
	node *idNode
	next int
}

// maxHeight is more than a tree of 2^32 ids has: nodes are at least a quarter
// full on average (see join), that is, have eight children.
const maxHeight = 12

// start begins at the first key >= from; to says where to end, "" at the end of
// the tree.
func (c *cursor[T]) start(objects *view[string, T], root *idNode, from, to string) {
	c.objects, c.to, c.depth = objects, to, 0
	c.ids = nil
	if root != nil {
		c.descend(root, from)
	}
}

// descend goes down to the leaf that the first key >= from is in, or would be.
func (c *cursor[T]) descend(n *idNode, from string) {
	for n.children != nil {
		at := 0
		if from != "" {
			at = childOf(n, c.objects, from)
		}
		c.path[c.depth] = step{node: n, next: at + 1}
		c.depth++
		n = n.children[at]
	}
	c.ids, c.dense = n.ids, n.dense
	if from != "" {
		c.ids = c.ids[lowerBound(c.ids, c.objects, from):]
	}
	if n := len(c.ids); c.to != "" && n > 0 && c.objects.key(c.ids[n-1]) >= c.to {
		c.ids = c.ids[:lowerBound(c.ids, c.objects, c.to)]
		c.depth = 0 // nothing after this leaf
	}
}

// next finds the next run and reports whether there is one.
func (c *cursor[T]) next() bool {
	for len(c.ids) == 0 {
		if c.depth == 0 {
			return false
		}
		above := &c.path[c.depth-1]
		if above.next == len(above.node.children) {
			c.depth--
			continue
		}
		n := above.node.children[above.next]
		above.next++
		c.descend(n, "")
	}
	ids := c.ids
	first, n := ids[0], uint32(len(ids))
	if !c.dense {
		n = 1
		for n < uint32(len(ids)) && ids[n] == first+n {
			n++
		}
	}
	c.first, c.count, c.ids = first, n, ids[n:]
	return true
}
