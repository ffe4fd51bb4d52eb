package factory

import (
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
)

// View shows a collection in another representation than its informer caches, or
// in the same. Objects are converted when they are read, so that there is one cache,
// one list and one watch. What a conversion costs is said at Metadata and
// Unstructured. All methods may be called concurrently; objects are shared, and must
// not be modified.
type View[T informer.Object] struct {
	key  key
	base shared

	take    func() rows
	takeIn  func(*informer.Moment) rows
	convert func(informer.Object) T
	handle  func(informer.Handler[T], []informer.HandlerOption) (*informer.Registration, error)
	index   func(name string, f indexer.Func[T]) error
	prefix  string // of the names of this view's indexes
}

// rows is a snapshot whose objects are of any type.
type rows interface {
	ResourceVersion() string
	Len() int
	get(key string) (informer.Object, bool)
	all() iter.Seq2[string, informer.Object]
	namespace(namespace string) iter.Seq2[string, informer.Object]
	byIndex(name, value string) (iter.Seq2[string, informer.Object], error)
}

// newView makes a View on one; convert is called each time an object is read.
func newView[S, T informer.Object](k key, one *informer.Informer[S], prefix string, convert func(S) T) *View[T] {
	return &View[T]{
		key: k, base: one, prefix: prefix,
		take: func() rows { return snapshotRows[S]{one.Snapshot()} },
		takeIn: func(m *informer.Moment) rows {
			if snapshot := one.SnapshotIn(m); snapshot != nil {
				return snapshotRows[S]{snapshot}
			}
			return nil
		},
		convert: func(obj informer.Object) T { return convert(obj.(S)) },
		handle: func(h informer.Handler[T], options []informer.HandlerOption) (*informer.Registration, error) {
			return informer.AddConverted(one, convert, h, options...)
		},
		index: func(name string, f indexer.Func[T]) error {
			return one.AddIndex(prefix+name, func(obj S) []string { return f(convert(obj)) })
		},
	}
}

// Name is the informer's, which may serve others as well.
func (v *View[T]) Name() string { return v.base.Name() }

// Status is the informer's.
func (v *View[T]) Status() informer.Status { return v.base.Status() }

// Explain says why a key is in the cache or not.
func (v *View[T]) Explain(key string) informer.Explanation { return v.base.Explain(key) }

// WaitForSync waits for the informer, as its own method does.
func (v *View[T]) WaitForSync(ctx context.Context) error { return v.base.WaitForSync(ctx) }

// WaitFor waits for the informer to be at a resourceVersion, as its own method does.
func (v *View[T]) WaitFor(ctx context.Context, resourceVersion string) error {
	return v.base.WaitFor(ctx, resourceVersion)
}

// Acquire keeps the informer running, as its own method does.
func (v *View[T]) Acquire(ctx context.Context) (*informer.Lease, error) { return v.base.Acquire(ctx) }

// Informer is the informer whose cache is shown, for informer.Together and Forget.
func (v *View[T]) Informer() informer.Member { return v.base }

// AddHandler registers a handler with the informer. Objects are converted in the
// handler's goroutine.
func (v *View[T]) AddHandler(h informer.Handler[T], options ...informer.HandlerOption) (*informer.Registration, error) {
	return v.handle(h, options)
}

// Lister answers as client-go's listers do. It converts only what matches.
func (v *View[T]) Lister() Lister[T] {
	return Lister[T]{read: func() table[T] { return v.Snapshot() }, resource: v.key.resource.GroupResource()}
}

// Snapshot is the newest state of the cache.
func (v *View[T]) Snapshot() ViewSnapshot[T] { return ViewSnapshot[T]{v, v.take()} }

// SnapshotIn is the state of the cache in a Moment that has View.Informer; false if
// it has not.
func (v *View[T]) SnapshotIn(m *informer.Moment) (ViewSnapshot[T], bool) {
	r := v.takeIn(m)
	return ViewSnapshot[T]{v, r}, r != nil
}

// ViewSnapshot is a snapshot as a View shows it. It never changes, and converts what
// is read.
type ViewSnapshot[T informer.Object] struct {
	view *View[T]
	rows rows
}

// ResourceVersion is that of the collection.
func (s ViewSnapshot[T]) ResourceVersion() string { return s.rows.ResourceVersion() }

// Len is the number of objects.
func (s ViewSnapshot[T]) Len() int { return s.rows.Len() }

// Get returns the object under key ("namespace/name", or "name").
func (s ViewSnapshot[T]) Get(key string) (obj T, found bool) {
	cached, found := s.rows.get(key)
	if !found {
		return obj, false
	}
	return s.view.convert(cached), true
}

// All yields all keys and objects, in key order.
func (s ViewSnapshot[T]) All() iter.Seq2[string, T] { return s.converted(s.rows.all(), nil) }

// Namespace yields those of one namespace; see indexer.Snapshot.
func (s ViewSnapshot[T]) Namespace(namespace string) iter.Seq2[string, T] {
	return s.converted(s.rows.namespace(namespace), nil)
}

// ByIndex yields those that an index of WithIndex has under value. Errors:
// indexer.ErrUnknownIndex.
func (s ViewSnapshot[T]) ByIndex(name, value string) (iter.Seq2[string, T], error) {
	found, err := s.rows.byIndex(s.view.prefix+name, value)
	if err != nil {
		return nil, err
	}
	return s.converted(found, nil), nil
}

// choose implements chooser.
func (s ViewSnapshot[T]) choose(namespace string, want func(metav1.Object) bool) iter.Seq2[string, T] {
	if namespace == metav1.NamespaceAll {
		return s.converted(s.rows.all(), want)
	}
	return s.converted(s.rows.namespace(namespace), want)
}

// converted converts those that are wanted.
func (s ViewSnapshot[T]) converted(from iter.Seq2[string, informer.Object], want func(metav1.Object) bool) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for key, obj := range from {
			if (want == nil || want(obj)) && !yield(key, s.view.convert(obj)) {
				return
			}
		}
	}
}

// snapshotRows forgets the type of a snapshot's objects.
type snapshotRows[S informer.Object] struct{ *indexer.Snapshot[S] }

func (r snapshotRows[S]) get(key string) (informer.Object, bool) { return r.Get(key) }

func (r snapshotRows[S]) all() iter.Seq2[string, informer.Object] { return objectsOf(r.All()) }

func (r snapshotRows[S]) namespace(namespace string) iter.Seq2[string, informer.Object] {
	return objectsOf(r.Namespace(namespace))
}

func (r snapshotRows[S]) byIndex(name, value string) (iter.Seq2[string, informer.Object], error) {
	found, err := r.ByIndex(name, value)
	if err != nil {
		return nil, err
	}
	return objectsOf(found), nil
}

func objectsOf[S informer.Object](from iter.Seq2[string, S]) iter.Seq2[string, informer.Object] {
	return func(yield func(string, informer.Object) bool) {
		for key, obj := range from {
			if !yield(key, obj) {
				return
			}
		}
	}
}
