package storage

import (
	"slices"
	"sort"
)

// version is one state of a key: a value, or nil where the key was deleted.
type version struct {
	revision int64
	kv       *KeyValue
}

// size in bytes, of key and value.
func (v version) size() int64 {
	if v.kv == nil {
		return 0
	}
	return int64(len(v.kv.Key) + len(v.kv.Value))
}

// versions is the history of one key. Invariant: revisions grow.
type versions struct {
	list []version
}

// add appends the newest version.
func (v *versions) add(next version) { v.list = append(v.list, next) }

// at returns the version that was current at revision, nil if there was none.
func (v *versions) at(revision int64) *KeyValue {
	i := v.upTo(revision)
	if i == 0 {
		return nil
	}
	return v.list[i-1].kv
}

// upTo returns how many versions are at most as new as revision.
func (v *versions) upTo(revision int64) int {
	// Most reads are of recent revisions: look at the end first.
	if n := len(v.list); n > 0 && v.list[n-1].revision <= revision {
		return n
	}
	return sort.Search(len(v.list), func(i int) bool { return v.list[i].revision > revision })
}

// compact forgets what is not needed to read at revision or later. It returns the
// size of that, and whether nothing is left.
func (v *versions) compact(revision int64) (freed int64, empty bool) {
	i := v.upTo(revision)
	if i == 0 {
		return 0, len(v.list) == 0
	}
	keep := i - 1
	if v.list[keep].kv == nil {
		keep++ // a deletion is the same as nothing
	}
	if keep > 0 {
		for _, old := range v.list[:keep] {
			freed += old.size()
		}
		v.list = slices.Clone(v.list[keep:])
	}
	return freed, len(v.list) == 0
}
