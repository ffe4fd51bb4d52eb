package storage

import "time"

// DefaultKeepFor is how long kube-apiserver lets etcd keep its history.
const DefaultKeepFor = 5 * time.Minute

// MemoryOptions bound the history of a Memory. What goes over the bounds is
// compacted with a later write: nothing runs while nobody writes.
type MemoryOptions struct {
	// KeepFor is the age that history reaches before it is forgotten: all that is
	// younger is kept, nothing stays after twice that. 0 is DefaultKeepFor, negative
	// is for ever.
	KeepFor time.Duration
	// KeepRevisions bounds the number of revisions that are kept, the current one
	// included. 0 is no bound. It goes before KeepFor.
	KeepRevisions int64
}

// retention decides when to compact. It needs the store's mutex.
type retention struct {
	MemoryOptions
	// mark is the revision that was current at markedAt.
	mark     int64
	markedAt time.Time
}

func newRetention(o MemoryOptions) retention {
	if o.KeepFor == 0 {
		o.KeepFor = DefaultKeepFor
	}
	return retention{MemoryOptions: o, mark: 1, markedAt: time.Now()}
}

// due returns the revision to compact at, 0 if there is none, after a write that
// made the revision current.
func (r *retention) due(now time.Time, current, compacted int64) int64 {
	revision := int64(0)
	if r.KeepFor > 0 && now.Sub(r.markedAt) >= r.KeepFor {
		revision = r.mark
		r.mark, r.markedAt = current, now
	}
	if n := r.KeepRevisions; n > 0 && current+1-max(1, compacted) > n {
		// A quarter more than needed, so that not each write has to.
		revision = max(revision, min(current, current+1-n+n/4))
	}
	return revision
}
