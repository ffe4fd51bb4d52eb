package reflector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is what a collection consists of: any API object with metadata. T is
// a pointer type such as *corev1.Pod, *unstructured.Unstructured or
// *metav1.PartialObjectMetadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// Page is one answer to a LIST.
type Page[T any] struct {
	// Items of this page, in the server's order. The slice belongs to who asked
	// for the page, and is emptied as it is read.
	Items []T
	// ResourceVersion of the collection, the same on every page of one LIST.
	ResourceVersion string
	// Continue asks for the next page; "" on the last one.
	Continue string
	// Remaining counts the items after this page; nil where the server does
	// not say.
	Remaining *int64
	// Skipped says which items were left out, and why: errors that wrap
	// ErrWrongType.
	Skipped []error
}

// Event is one frame of a watch stream.
type Event[T any] struct {
	// Type is ADDED, MODIFIED, DELETED or BOOKMARK; an ERROR is returned as an
	// error by Stream.Next.
	Type watch.EventType
	// Object is set for ADDED, MODIFIED and DELETED (the last state).
	Object T
	// Known is set instead of Object where the stream was opened by
	// StreamingSource.WatchKnown and the consumer holds this version: its key.
	Known string
	// ResourceVersion of the event: the object's, or the bookmark's.
	ResourceVersion string
	// InitialEventsEnd marks the BOOKMARK that ends a watch-list's initial
	// events.
	InitialEventsEnd bool
}

// Source lists pages of one collection and opens watch streams on it. It does
// no retries: those are the Reflector's business. Its methods are called by one
// goroutine at a time, List also while another one reads a stream of the Source.
//
// A Source that cannot answer a watch-list says so with a method
// IsWatchListSemanticsUnSupported() bool, client-go's name for it.
type Source[T Object] interface {
	// List asks for one page. A status from the server is returned as
	// *apierrors.StatusError (possibly wrapped), an answer that cannot be read
	// as *DecodeError.
	List(ctx context.Context, options metav1.ListOptions) (Page[T], error)
	// Watch opens a stream, which lives no longer than ctx. The caller closes
	// it.
	Watch(ctx context.Context, options metav1.ListOptions) (Stream[T], error)
}

// Stream is an open watch, read by one goroutine.
type Stream[T any] interface {
	// Next waits for the next event. After an error the stream is of no more
	// use, unless it wraps ErrWrongType, which concerns one event only. io.EOF
	// says that the server ended it in an orderly way, *apierrors.StatusError
	// carries an ERROR event, *DecodeError tells of a frame that cannot be read;
	// ctx.Err() when ctx ended first.
	Next(ctx context.Context) (Event[T], error)
	// Close ends the stream and returns when its goroutines are gone. It may
	// be called again.
	Close()
}

// Sink receives the collection's changes in the order of the stream. All calls
// come from the goroutine that is in Run, so a Sink should queue and return.
//
// A replacement (first sync or relist) is a bracket: BeginReplace, any number
// of ReplaceItem, then EndReplace or AbortReplace; nothing else comes between
// them. Brackets do not nest, and one that was begun is always ended, also when
// Run stops.
type Sink[T Object] interface {
	// BeginReplace opens a replacement; reason is a RelistReason.
	BeginReplace(reason string)
	// ReplaceItem adds obj to the replacement. The same key may come again with
	// a newer state (objects change while a watch-list sends its initial
	// events): the last one wins.
	ReplaceItem(obj T)
	// EndReplace says that the items since BeginReplace are the whole
	// collection at resourceVersion.
	EndReplace(resourceVersion string)
	// AbortReplace says to forget the items since BeginReplace.
	AbortReplace()

	// Add reports an ADDED event. The object may be known already: a stream
	// that began at resourceVersion "0" (after a list at no version, which only
	// fakes give) repeats itself, and then its versions are in no order.
	Add(obj T)
	// Update reports a MODIFIED event.
	Update(obj T)
	// Delete reports a DELETED event; obj is the last state the server sent.
	Delete(obj T)
	// Bookmark says that nothing but what was reported has happened up to
	// resourceVersion.
	Bookmark(resourceVersion string)
}
