package cacher

import (
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// Item is one version of an object. It is immutable and shared by the window,
// the snapshots and every reader, and so are all that it refers to.
type Item struct {
	// Key is "namespace/name", or "name" of a cluster-scoped object.
	Key string
	// Namespace is empty for a cluster-scoped object.
	Namespace, Name string
	Object          runtime.Object
	// ResourceVersion of the object; of a deleted one that of the deletion.
	ResourceVersion uint64
	// Labels are what label selectors see.
	Labels labels.Set

	fields    itemFields
	hashes    shardHashes
	encodings encodings
}

// newItem decodes a stored version.
func (o *Options) newItem(kv storage.KeyValue) (*Item, error) {
	obj, err := o.Decode(kv)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	item := &Item{
		Key:             strings.TrimPrefix(kv.Key, o.Prefix),
		Object:          obj,
		ResourceVersion: uint64(kv.ModRevision),
		Labels:          accessor.GetLabels(),
	}
	item.Namespace, item.Name = splitKey(item.Key)
	item.fields.prepare(obj, o)
	if o.Sharding {
		item.hashes = hashesOf(string(accessor.GetUID()), item.Namespace)
	}
	return item, nil
}

// splitKey is the reverse of joinKey.
func splitKey(key string) (namespace, name string) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return "", key
}

// joinKey makes an Item's key.
func joinKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// at returns a copy of the item that carries another resource version, for
// DELETED events. The object is copied deeply, since its metadata may be a map.
func (i *Item) at(resourceVersion uint64) *Item {
	obj := i.Object.DeepCopyObject()
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetResourceVersion(strconv.FormatUint(resourceVersion, 10))
	}
	return &Item{
		Key: i.Key, Namespace: i.Namespace, Name: i.Name, Object: obj,
		ResourceVersion: resourceVersion, Labels: i.Labels, hashes: i.hashes,
		fields: itemFields{options: i.fields.options, trigger: i.fields.trigger},
	}
}

// Encoded returns the object's bytes under the encoder named id, calling encode
// at most once per id: later and concurrent callers get the first one's result,
// an error included. The bytes are shared and must not be changed.
func (i *Item) Encoded(id string, encode func(runtime.Object) ([]byte, error)) ([]byte, error) {
	e := i.encodings.get(id)
	e.once.Do(func() {
		e.err = errEncodePanicked // in case encode does not return
		e.bytes, e.err = encode(i.Object)
	})
	return e.bytes, e.err
}

// encodings is a small set: there are hardly ever more than three encoders.
type encodings struct {
	mu   sync.Mutex // guards list; not held while encoding
	list []*encoding
}

// encoding is the result of one encoder.
type encoding struct {
	id    string
	once  sync.Once
	bytes []byte
	err   error
}

// get finds or adds the encoding of one encoder.
func (e *encodings) get(id string) *encoding {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, known := range e.list {
		if known.id == id {
			return known
		}
	}
	added := &encoding{id: id}
	e.list = append(e.list, added)
	return added
}
