package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/fakeserver/cacher"
	"github.com/listwatch/listwatch/fakeserver/storage"
)

// collection is the objects of one resource on one server. Writes go to the
// store; reads and watches go through a cacher that is made at the first use.
type collection struct {
	kind   *storedKind
	store  storage.Store
	tuning cacher.Options // of the cacher

	mu      sync.Mutex // guards the rest; never held while waiting
	making  *making
	closed  bool
	retired bool // nothing new begins
	users   int  // requests that have acquired it
}

// newCollection is the collection of a stored kind.
func (s *Server) newCollection(kind *storedKind) *collection {
	store := s.metrics.measure(s.options.Store, kind)
	tuning := s.options.Cache
	tuning.Store, tuning.Prefix, tuning.GroupResource = store, kind.prefix, kind.resource
	tuning.Decode = func(kv storage.KeyValue) (runtime.Object, error) { return decodeStored(kind, kv) }
	tuning.Fields, tuning.TriggerField, tuning.Trigger = kind.labels.set, kind.trigger.field, kind.trigger.of
	tuning.Recorder, tuning.ClusterScoped = s.metrics, !kind.namespaced
	return &collection{kind: kind, store: store, tuning: tuning}
}

// making is one attempt to make the cacher. done is closed when the rest is set.
type making struct {
	done   chan struct{}
	cacher *cacher.Cacher
	err    error
}

// reader returns the cacher. Callers that come while it is being made wait for
// it; an attempt that failed is repeated by the next caller.
func (c *collection) reader(ctx context.Context) (*cacher.Cacher, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", c.kind.resource, ErrClosed)
	}
	m := c.making
	first := m == nil
	if first {
		m = &making{done: make(chan struct{})}
		c.making = m
	}
	c.mu.Unlock()
	if first {
		c.make(ctx, m)
	}
	select {
	case <-m.done:
		return m.cacher, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// make makes the cacher and lets it read what there is: a write that comes next
// is then part of the history that watches can go back to.
func (c *collection) make(ctx context.Context, m *making) {
	defer close(m.done)
	m.cacher, m.err = cacher.New(c.tuning)
	if m.err != nil {
		c.mu.Lock()
		c.making = nil
		c.mu.Unlock()
		return
	}
	// A cacher that cannot read yet says so to whoever asks it.
	_, _ = m.cacher.List(ctx, cacher.ListOptions{
		Predicate: cacher.Predicate{Scope: cacher.Scope{Namespace: "-"}}, ResourceVersion: "0",
	})
}

// existing returns the cacher if it was made.
func (c *collection) existing() *cacher.Cacher {
	c.mu.Lock()
	m := c.making
	c.mu.Unlock()
	if m == nil {
		return nil
	}
	<-m.done
	return m.cacher
}

// close ends the cacher, if there is one, and lets no other be made.
func (c *collection) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if made := c.existing(); made != nil {
		made.Close()
	}
}

// acquire keeps the cacher from being closed by retire, until release. It fails
// if it was retired before.
func (c *collection) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return false
	}
	c.users++
	return true
}

func (c *collection) release() {
	c.mu.Lock()
	c.users--
	last := c.users == 0 && c.retired
	c.mu.Unlock()
	if last {
		c.close()
	}
}

// retire lets all watches deliver what has happened and end, and closes the cacher when the
// requests that use it are over.
func (c *collection) retire() {
	c.mu.Lock()
	c.retired = true
	idle := c.users == 0
	c.mu.Unlock()
	if made := c.existing(); made != nil {
		made.DrainWatches()
	}
	if idle {
		c.close()
	}
}

// isRetired is asked by those who have just opened a watch, which retire may
// have missed.
func (c *collection) isRetired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retired
}

func (c *collection) key(namespace, name string) string {
	if namespace == "" {
		return c.kind.prefix + name
	}
	return c.kind.prefix + namespace + "/" + name
}

// record is an object as the store has it.
type record struct {
	object   runtime.Object // the caller's own
	revision int64
	bytes    []byte // as stored
}

func (c *collection) get(ctx context.Context, namespace, name string) (record, error) {
	kv, err := c.store.Get(ctx, c.key(namespace, name), 0)
	if err != nil {
		return record{}, c.storeError(err, name)
	}
	obj, err := decodeStored(c.kind, kv)
	if err != nil {
		return record{}, err
	}
	return record{object: obj, revision: kv.ModRevision, bytes: kv.Value}, nil
}

// create stores a new object and returns it as it was stored.
func (c *collection) create(ctx context.Context, namespace, name string, obj runtime.Object) (runtime.Object, error) {
	data, err := encodeStored(c.kind, obj)
	if err != nil {
		return nil, err
	}
	kv, err := c.store.Create(ctx, c.key(namespace, name), data)
	if err != nil {
		return nil, c.storeError(err, name)
	}
	c.settle(ctx, kv.ModRevision)
	return decodeStored(c.kind, kv)
}

// settle lets the cache take in a write before its client is answered. A real
// server answers at once and its cache follows a moment later, which makes tests
// that read what they wrote fail now and then.
func (c *collection) settle(ctx context.Context, revision int64) {
	if reader := c.existing(); reader != nil {
		reader.Settle(ctx, revision)
	}
}

// storeError translates the errors that a client must understand. A conflict is
// left alone: those who write retry.
func (c *collection) storeError(err error, name string) error {
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return apierrors.NewNotFound(c.kind.resource, name)
	case errors.Is(err, storage.ErrExists):
		return apierrors.NewAlreadyExists(c.kind.resource, name)
	}
	return err
}

// errUnchanged may be returned by a change: nothing is to be written.
var errUnchanged = errors.New("apiserver: nothing to write")

// outcome is what change wants to happen to a record.
type outcome struct {
	object      runtime.Object // the new state; what the client is answered
	remove      bool           // the object goes away altogether
	keepVersion bool           // and what is answered has the version it had until then
}

// change reads an object, lets decide make the new state, and writes it if the
// object is still the same; otherwise it starts again. decide gets its own copy.
// The result's object has the resourceVersion of the write, or of the deletion
// if it was removed; a state equal to the stored one is not written.
func (c *collection) change(ctx context.Context, namespace, name string,
	decide func(current record) (outcome, error)) (outcome, error) {
	for {
		if err := ctx.Err(); err != nil {
			return outcome{}, err
		}
		current, err := c.get(ctx, namespace, name)
		if err != nil {
			return outcome{}, err
		}
		result, err := decide(current)
		if errors.Is(err, errUnchanged) {
			return result, nil
		}
		if err != nil {
			return outcome{}, err
		}
		result, err = c.write(ctx, c.key(namespace, name), current, result)
		if errors.Is(err, storage.ErrConflict) {
			continue
		}
		if err != nil {
			return outcome{}, c.storeError(err, name)
		}
		return result, nil
	}
}

// write does what result says, once, and returns it with the object as it was
// stored: encoding loses, for example, the difference between none and empty.
func (c *collection) write(ctx context.Context, key string, current record, result outcome) (outcome, error) {
	if result.remove {
		kv, err := c.store.Delete(ctx, key, current.revision)
		if err != nil {
			return result, err
		}
		c.settle(ctx, kv.ModRevision)
		if result.keepVersion {
			kv.ModRevision = current.revision
		}
		return result, setVersion(result.object, kv.ModRevision)
	}
	data, err := encodeStored(c.kind, result.object)
	if err != nil {
		return result, err
	}
	kv := storage.KeyValue{Key: key, Value: data, ModRevision: current.revision}
	if !bytes.Equal(data, current.bytes) {
		if kv, err = c.store.Update(ctx, key, data, current.revision); err != nil {
			return result, err
		}
		c.settle(ctx, kv.ModRevision)
	}
	result.object, err = decodeStored(c.kind, kv)
	return result, err
}

func setVersion(obj runtime.Object, revision int64) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCodec, err)
	}
	accessor.SetResourceVersion(strconv.FormatInt(revision, 10))
	return nil
}
