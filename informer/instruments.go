package informer

import "time"

// Instruments are told of an Informer's work as it happens, at the moments at which
// client-go updates the metrics of an informer: for those who push such. Package
// informermetrics needs none, it reads Status.
//
// The methods hold up what they are told of. They must return soon, and must not call
// methods of the Informer.
type Instruments interface {
	// Queued tells that n deltas wait for the cache: after each arrival, and when a
	// batch was taken. Several goroutines may call it at a time; the last call to
	// begin then has the right number. A complete list is one delta.
	Queued(n int)
	// Processed tells how long it took until a batch that was taken from the queue
	// could be read, and handlers were woken. Calls come one after the other.
	Processed(took time.Duration)
	// Stored tells the resourceVersion of the cache after each write to it, before
	// handlers are told of that. Calls come one after the other.
	Stored(resourceVersion string)
}
