package cacher

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/listwatch/listwatch/fakeserver/storage"
	"github.com/listwatch/listwatch/fakeserver/storage/storagetest"
)

// TestReadsThroughTheCacheKeepThePromisesOfAStore runs the suite of stores over
// Cachers: what they serve must be what the store holds.
func TestReadsThroughTheCacheKeepThePromisesOfAStore(t *testing.T) {
	// A Cacher is of one resource, and has no progress that a client can ask for.
	storagetest.RunTests(t, newReader, storagetest.Whole, storagetest.Progress)
}

// reader is a store that is read through Cachers.
type reader struct {
	*storage.Memory
	cachers map[string]*Cacher // by prefix
}

// rawObject is a stored version as it is.
type rawObject struct {
	metav1.PartialObjectMetadata
	kv storage.KeyValue
}

func (o *rawObject) DeepCopyObject() runtime.Object {
	return &rawObject{*o.PartialObjectMetadata.DeepCopy(), o.kv}
}

func newReader(t *testing.T) storage.Store {
	r := &reader{Memory: storage.NewMemory(), cachers: map[string]*Cacher{}}
	t.Cleanup(r.Memory.Close)
	for _, prefix := range []string{"/pods/", "/nodes/", "/pods.x/", "/podsx/"} {
		made, err := New(Options{
			Store: r.Memory, Prefix: prefix, BlockTimeout: time.Minute, LagLimit: 1 << 20,
			Decode: func(kv storage.KeyValue) (runtime.Object, error) {
				obj := &rawObject{kv: kv}
				obj.ResourceVersion = strconv.FormatInt(kv.ModRevision, 10)
				return obj, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made.Close)
		if _, err := made.List(t.Context(), ListOptions{ResourceVersion: "0"}); err != nil { // until it is filled
			t.Fatal(err)
		}
		r.cachers[prefix] = made
	}
	return r
}

// at returns the Cacher of a key or prefix, and the rest.
func (r *reader) at(key string) (*Cacher, string) {
	end := strings.IndexByte(key[1:], '/') + 2
	return r.cachers[key[:end]], key[end:]
}

// stored turns a client's error back into a store's.
func stored(err error) error {
	switch status(err).ErrStatus.Code {
	case 404:
		return storage.ErrNotFound
	case 410:
		return storage.ErrCompacted
	case 504:
		return storage.ErrFutureRevision
	}
	if errors.Is(err, io.EOF) {
		return storage.ErrClosed
	}
	return err
}

// kvOf is the stored version of an item; a deletion's has the deletion's revision.
func kvOf(item *Item) storage.KeyValue {
	kv := item.Object.(*rawObject).kv
	kv.ModRevision = int64(item.ResourceVersion)
	return kv
}

func (r *reader) Get(ctx context.Context, key string, revision int64) (storage.KeyValue, error) {
	if revision == 0 {
		c, rest := r.at(key)
		namespace, name := splitKey(rest)
		item, err := c.Get(ctx, namespace, name, "")
		if err != nil {
			return storage.KeyValue{}, stored(err)
		}
		return kvOf(item), nil
	}
	prefix, name := key[:strings.LastIndexByte(key, '/')+1], key[strings.LastIndexByte(key, '/')+1:]
	all, err := r.list(ctx, prefix, storage.ListOptions{Revision: revision}, name)
	if err == nil && len(all.KVs) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.KeyValue{}, err
	}
	return all.KVs[0], nil
}

func (r *reader) List(ctx context.Context, prefix string, opts storage.ListOptions) (storage.ListResult, error) {
	return r.list(ctx, prefix, opts, "")
}

func (r *reader) list(ctx context.Context, prefix string, opts storage.ListOptions, name string) (storage.ListResult, error) {
	if err := ctx.Err(); err != nil {
		return storage.ListResult{}, err // a client's request would not even begin
	}
	c, namespace := r.at(prefix)
	ask := ListOptions{Limit: opts.Limit, Predicate: Predicate{Scope: Scope{strings.TrimSuffix(namespace, "/"), name}}}
	switch _, from := r.at(max(opts.From, prefix)); {
	case opts.From > prefix:
		ask.Continue = encodeContinue(ask.Namespace, from, opts.Revision)
		if opts.Revision == 0 {
			ask.Continue = encodeContinue(ask.Namespace, from, inconsistent)
		}
	case opts.Revision > 0:
		ask.ResourceVersion, ask.Match = strconv.FormatInt(opts.Revision, 10), metav1.ResourceVersionMatchExact
	}
	// In real time, a slow machine must not make a version late that comes: only what
	// the store has not reached is not waited for.
	if newest, err := r.CurrentRevision(ctx); err == nil && opts.Revision > newest {
		patience := c.options.BlockTimeout
		c.options.BlockTimeout = 50 * time.Millisecond
		defer func() { c.options.BlockTimeout = patience }()
	}
	got, err := c.List(ctx, ask)
	if err != nil {
		return storage.ListResult{}, stored(err)
	}
	result := storage.ListResult{Revision: int64(got.ResourceVersion), More: got.Continue != "", Count: int64(len(got.Items))}
	if got.Remaining != nil {
		result.Count += *got.Remaining
	}
	for _, item := range got.Items {
		result.KVs = append(result.KVs, kvOf(item))
	}
	return result, nil
}

func (r *reader) Compact(ctx context.Context, revision int64) error {
	err := r.Memory.Compact(ctx, revision)
	for _, c := range r.cachers {
		if err == nil {
			c.Compacted(revision)
		}
	}
	return err
}

func (r *reader) Watch(ctx context.Context, prefix string, opts storage.WatchOptions) (storage.Watch, error) {
	c, namespace := r.at(prefix)
	w, err := c.Watch(ctx, WatchOptions{
		Predicate:       Predicate{Scope: Scope{Namespace: strings.TrimSuffix(namespace, "/")}},
		ResourceVersion: strconv.FormatInt(max(1, opts.Revision), 10),
	})
	if err != nil {
		return nil, stored(err)
	}
	known := map[string]storage.KeyValue{}
	before, err := r.List(ctx, prefix, storage.ListOptions{Revision: max(1, opts.Revision)})
	for _, kv := range before.KVs {
		known[kv.Key] = kv
	}
	if err != nil && !errors.Is(err, storage.ErrFutureRevision) && !errors.Is(err, storage.ErrCompacted) {
		return nil, err
	}
	return &readerWatch{w, known}, nil
}

// readerWatch is a Watcher as a store's watch. It knows what was before.
type readerWatch struct {
	watcher *Watcher
	known   map[string]storage.KeyValue
}

func (w *readerWatch) Next(ctx context.Context) ([]storage.Event, error) {
	event, err := w.watcher.Next(ctx)
	if err != nil {
		return nil, stored(err)
	}
	kv := kvOf(event.Item)
	made := storage.Event{Type: storage.Put, KV: kv}
	if prev, ok := w.known[kv.Key]; ok {
		made.Prev = &prev
	}
	if w.known[kv.Key] = kv; event.Type == watch.Deleted {
		made.Type = storage.Delete
		delete(w.known, kv.Key)
	}
	return []storage.Event{made}, nil
}

func (w *readerWatch) RequestProgress() {}

func (w *readerWatch) Close() { w.watcher.Stop() }
