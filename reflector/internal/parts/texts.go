package parts

import (
	"slices"
	"sync/atomic"
)

const (
	// largestBlock is how much memory strings of an object share at most,
	// smallestBlock what those share for which there was no room.
	largestBlock, smallestBlock = 4 << 10, 128
	// firstBlock bounds it while nothing is known of such objects.
	firstBlock = 1 << 10
)

// Texts makes the memory of an object's strings, in pieces as few as possible.
// Usual.Texts makes one. It belongs to one goroutine.
type Texts struct {
	block []byte
	total int // bytes in blocks

	next, more int // sizes of the next block and of those after it
}

// Keep returns a copy of data, which may be kept, and not written to.
func (t *Texts) Keep(data []byte) []byte {
	size := len(data)
	switch {
	case size == 0:
		return []byte{} // and no part of data
	case cap(t.block)-len(t.block) >= size:
	case size > t.next/4: // and does not pay the rest of the block
		return append(make([]byte, 0, size), data...)
	default:
		t.block = slices.Grow([]byte(nil), t.next)
		t.next = t.more
	}
	t.total += size
	from := len(t.block)
	t.block = append(t.block, data...)
	return t.block[from : from+size : from+size]
}

// Usual knows how much text objects of a type have. The zero value knows nothing
// yet. It is safe for concurrent use.
type Usual struct {
	share atomic.Int64 // bytes of text in 1024 bytes of the last object
}

// Texts makes memory for an object of so many bytes.
func (u *Usual) Texts(size int) Texts {
	if share := u.share.Load(); share > 0 {
		return Texts{next: min(largestBlock, int(int64(size)*share>>10)+1), more: smallestBlock}
	}
	first := min(firstBlock, size/4)
	return Texts{next: first, more: first}
}

// Learn takes note of the texts of an object of so many bytes.
func (u *Usual) Learn(size int, t *Texts) {
	if share := int64(t.total) << 10 / int64(max(1, size)); u.share.Load() != share {
		u.share.Store(share)
	}
}
