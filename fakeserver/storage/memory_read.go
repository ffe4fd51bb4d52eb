package storage

import (
	"context"
	"sort"
	"strings"

	"github.com/tidwall/btree"
)

// CurrentRevision implements Store.
func (m *Memory) CurrentRevision(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return 0, ErrClosed
	}
	return m.rev, nil
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, key string, revision int64) (KeyValue, error) {
	if err := ctx.Err(); err != nil {
		return KeyValue{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.readable(revision); err != nil {
		return KeyValue{}, keyError(key, err)
	}
	var kv *KeyValue
	if revision == 0 {
		kv, _ = m.live.Get(key)
	} else if past, ok := m.history.Get(key); ok {
		kv = past.at(revision)
	}
	if kv == nil {
		return KeyValue{}, keyError(key, ErrNotFound)
	}
	return *kv, nil
}

// readable says whether the store can be read at revision. It needs mu.
func (m *Memory) readable(revision int64) error {
	switch {
	case m.closed:
		return ErrClosed
	case revision == 0:
		return nil
	case revision > m.rev:
		return revisionError(revision, ErrFutureRevision)
	case revision < m.compacted:
		return revisionError(revision, ErrCompacted)
	default:
		return nil
	}
}

// List implements Store. It copies no values.
func (m *Memory) List(ctx context.Context, prefix string, opts ListOptions) (ListResult, error) {
	if err := ctx.Err(); err != nil {
		return ListResult{}, err
	}
	from := max(prefix, opts.From)
	m.mu.Lock() // a copy of the tree marks the original, too
	if err := m.readable(opts.Revision); err != nil {
		m.mu.Unlock()
		return ListResult{}, keyError(prefix, err)
	}
	if opts.Revision == 0 || opts.Revision == m.rev {
		live, revision := m.live.Copy(), m.rev
		m.mu.Unlock()
		return listLive(live, prefix, from, ListResult{Revision: revision}, opts.Limit), nil
	}
	m.mu.Unlock()
	return m.listPast(prefix, from, opts)
}

// listLive reads the newest versions; live is the caller's own copy.
func listLive(live *btree.Map[string, *KeyValue], prefix, from string, result ListResult, limit int64) ListResult {
	first, end := rank(live, from), rank(live, prefixEnd(prefix))
	result.Count = int64(max(0, end-first))
	size := result.Count
	if limit > 0 && size > limit {
		size, result.More = limit, true
	}
	result.KVs = make([]KeyValue, 0, size)
	live.Ascend(from, func(_ string, kv *KeyValue) bool {
		if int64(len(result.KVs)) == size {
			return false
		}
		result.KVs = append(result.KVs, *kv)
		return true
	})
	return result
}

// listPast reads an older revision out of the history of every key.
func (m *Memory) listPast(prefix, from string, opts ListOptions) (ListResult, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if err := m.readable(opts.Revision); err != nil { // compacted meanwhile
		return ListResult{}, keyError(prefix, err)
	}
	result := ListResult{Revision: opts.Revision}
	m.history.Ascend(from, func(key string, past *versions) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		kv := past.at(opts.Revision)
		if kv == nil {
			return true
		}
		result.Count++
		if opts.Limit > 0 && int64(len(result.KVs)) == opts.Limit {
			result.More = true
			return true
		}
		result.KVs = append(result.KVs, *kv)
		return true
	})
	return result, nil
}

// rank returns how many keys of the tree are less than key.
func rank(tree *btree.Map[string, *KeyValue], key string) int {
	return sort.Search(tree.Len(), func(i int) bool {
		at, _, _ := tree.GetAt(i)
		return at >= key
	})
}

// prefixEnd returns the least string greater than all that begin with prefix,
// which ends in "/".
func prefixEnd(prefix string) string {
	if prefix == "" {
		return "\xff"
	}
	return prefix[:len(prefix)-1] + string(prefix[len(prefix)-1]+1)
}
