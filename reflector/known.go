package reflector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Known returns UID and resourceVersion of the object that the consumer holds
// under key ("namespace/name", or "name"). It may be called concurrently, and
// must not keep key, which may be part of a buffer.
type Known func(key string) (uid types.UID, resourceVersion string, ok bool)

// KnownSink is an optional part of a Sink that holds the collection. A
// replacement then gives it the keys of the objects that it holds in the very
// version of the server, instead of second copies of them; a StreamingSource
// does not even decode these.
//
// A first sync finds nothing known, so Known is not called during it, nor after
// the server has called the last resourceVersion too large.
type KnownSink interface {
	// Known is a function as described at type Known. It is called between
	// BeginReplace and the end of the bracket, by the Reflector's goroutine or by
	// those of the Source.
	Known(key string) (uid types.UID, resourceVersion string, ok bool)
	// ReplaceKnown adds to the replacement the object held under key, which
	// Known told to be of the server's version. It is called where ReplaceItem
	// would have been, in the stream's order. key may be kept.
	ReplaceKnown(key string)
}

// Item is one object of a LIST.
type Item[T any] struct {
	// Object is set unless one of the other fields is.
	Object T
	// Known is the key of an object that was not decoded, because the consumer
	// holds this version of it.
	Known string
	// Skipped says why the item was left out; it wraps ErrWrongType.
	Skipped error
}

// Part is a piece of the answer to a LIST.
type Part[T any] struct {
	// Items of a page, in the server's order. The slice is the stream's and good
	// until its next call.
	Items []Item[T]
	// EndOfPage is set on the last part of each page, and with it the fields
	// below, which are as in Page.
	EndOfPage       bool
	ResourceVersion string
	Continue        string
	Remaining       *int64
}

// ListStream is a LIST that is being read, by one goroutine. It goes from page
// to page by itself, asking for the next one before it is needed, and ends with
// the page that has no Continue.
type ListStream[T any] interface {
	// Next waits for the next part, and must not be called after the last. After
	// an error, which is as one of Source.List, the stream is of no more use.
	Next(ctx context.Context) (Part[T], error)
	// Close ends the stream and returns when its goroutines are gone. It may be
	// called again.
	Close()
}

// StreamingSource is an optional part of a Source that hands over the items of
// a LIST as they arrive, and spares the decoding of objects that are known.
// Both methods begin to read, and to call known, with the first Next of what
// they return. known may be nil.
type StreamingSource[T Object] interface {
	Source[T]
	// ListStream asks for a collection as Source.List does for a page of it. The
	// stream lives no longer than ctx. The caller closes it.
	ListStream(ctx context.Context, options metav1.ListOptions, known Known) (ListStream[T], error)
	// WatchKnown is Source.Watch for a watch-list. Initial events up to the first
	// that is not ADDED may come as Event.Known.
	WatchKnown(ctx context.Context, options metav1.ListOptions, known Known) (Stream[T], error)
}

// keyOf is "namespace/name", or "name" for an object without a namespace.
func keyOf[T Object](obj T) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}

// known is what tells what the sink holds: nil if it does not tell, holds
// nothing because this is the first sync, or what it holds proves nothing.
func (d *driver[T]) known() Known {
	if d.knownSink == nil || !d.state.synced || d.state.replacement.rewound {
		return nil
	}
	return d.knownSink.Known
}

// knows reports whether the sink holds obj in its version already, and under
// which key. Versions of fakes may be empty and tell nothing.
func (d *driver[T]) knows(obj T) (key string, ok bool) {
	known := d.known()
	if known == nil || obj.GetResourceVersion() == "" {
		return "", false
	}
	key = keyOf(obj)
	uid, resourceVersion, held := known(key)
	return key, held && uid == obj.GetUID() && resourceVersion == obj.GetResourceVersion()
}

// replaceItem hands one object of a replacement over.
func (d *driver[T]) replaceItem(obj T, known string) {
	if known == "" {
		key, ok := d.knows(obj)
		if !ok {
			d.sink.ReplaceItem(obj)
			return
		}
		known = key
	}
	d.kept.Add(1)
	d.knownSink.ReplaceKnown(known)
}
