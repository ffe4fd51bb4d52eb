package informer

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/listwatch/listwatch/deltafifo"
	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/reflector"
)

// Verdict is the main point of an Explanation.
type Verdict string

// Verdicts, of which the first that applies is given.
const (
	// VerdictCached: the object is in the cache.
	VerdictCached Verdict = "cached"
	// VerdictPending: it was received and waits for its turn to be cached.
	VerdictPending Verdict = "pending"
	// VerdictInvalidKey: no object has such a key.
	VerdictInvalidKey Verdict = "invalid key"
	// VerdictOtherNamespace: the source reads another namespace.
	VerdictOtherNamespace Verdict = "other namespace"
	// VerdictTransformFailed: it was received, and the transform failed for it.
	VerdictTransformFailed Verdict = "transform failed"
	// VerdictTransformDropped: it was received, and the transform dropped its newest
	// version.
	VerdictTransformDropped Verdict = "transform dropped"
	// VerdictDeleted: it was in the cache, and was deleted not long ago.
	VerdictDeleted Verdict = "deleted"
	// VerdictNotSynced: nobody knows, as the collection has not been listed.
	VerdictNotSynced Verdict = "not synced"
	// VerdictAbsent: the collection does not have it, or the selectors leave it
	// out.
	VerdictAbsent Verdict = "absent"
)

// Explanation says why an object is in a cache or not, at about one moment. It
// can be written as JSON, by the rule of Status.
type Explanation struct {
	// Informer is its name, Key what was asked for, Time when.
	Informer string
	Key      string
	Time     time.Time
	// Verdict is the main point, and Because says it in sentences, with all else
	// that may matter, the most important first.
	Verdict Verdict
	Because []string

	// Cached says that the object is in the cache, and UID and ResourceVersion
	// which one.
	Cached          bool
	UID             types.UID
	ResourceVersion string
	// Indexes are the indexes, by name, and what they have the object under.
	Indexes []IndexEntry
	// Pending is what was received and is not in the cache yet, oldest first.
	Pending []PendingChange
	// Failure is of the transform, for the newest version; nil if there is none.
	Failure *ObjectError
	// Drops and Deletions are those among the last 256 each that concern the key,
	// newest first.
	Drops     []Drop
	Deletions []Deletion

	// CollectionVersion is the resourceVersion that the cache is at, "" if it
	// never was synced; Synced and Phase are those of Status.
	CollectionVersion string
	Synced            bool
	Phase             reflector.Phase
}

// IndexEntry is what one index knows of an object.
type IndexEntry struct {
	Index  string
	Values []string
	Err    error // why the object is not in this index; nil if nothing went wrong
}

// PendingChange is a change of an object that waits for the cache.
type PendingChange struct {
	// Type is that of deltafifo.
	Type            deltafifo.DeltaType
	ResourceVersion string
	// Gone says that the object will not be there after the change.
	Gone bool
}

// MarshalJSON writes e by the rule of Status.MarshalJSON.
func (e Explanation) MarshalJSON() ([]byte, error) { return viewJSON(e) }

// String writes e as a heading and a list.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in informer %q: %s", e.Key, e.Informer, e.Verdict)
	for _, sentence := range e.Because {
		fmt.Fprintf(&b, "\n- %s", sentence)
	}
	return b.String()
}

// Explain says why key ("namespace/name", or "name" without a namespace) is in
// the cache or not. It looks at everything that is known: the cache and its
// indexes, what waits for the cache, failures of the transform, what was dropped
// or deleted lately, which handlers are behind, and what the source reads. It is
// meant for people, and may take some milliseconds with a large cache. It neither
// calls the server nor waits for anybody.
func (i *Informer[T]) Explain(key string) Explanation {
	status := i.Status()
	// In the order in which an object travels, so that it cannot slip by.
	e := Explanation{Informer: i.name, Key: key, Time: time.Now()}
	for _, queue := range i.waiting() {
		for _, delta := range queue.Pending(key) {
			e.Pending = append(e.Pending, PendingChange{
				Type: delta.Type, ResourceVersion: delta.ResourceVersion,
				Gone: delta.Type == deltafifo.Deleted || isNil(delta.Object),
			})
		}
	}
	state := i.state.Load()
	e.Synced, e.CollectionVersion, e.Phase = state.synced, state.snapshot.ResourceVersion(), status.Phase
	if obj, found := state.snapshot.Get(key); found {
		e.Cached, e.UID, e.ResourceVersion = true, obj.GetUID(), obj.GetResourceVersion()
	}
	e.Indexes = i.indexEntries(state.snapshot, key)
	x := explainer{e: &e, status: &status, shape: shapeOf(state.snapshot)}
	for _, p := range i.parts {
		failure, drops := p.sink.trouble().about(key)
		if failure != nil {
			e.Failure = failure
		}
		e.Drops = append(e.Drops, drops...)
		x.withheld = x.withheld || p.sink.trouble().drops.stands(key)
		dropped := p.sink.trouble().drops.count()
		x.dropped += dropped
		x.forgot = x.forgot || dropped > maxRecent
	}
	e.Deletions = i.deletions.find(func(d Deletion) bool { return d.Key == key })
	x.conclude()
	return e
}

// indexEntries are what the indexes of snapshot have of key.
func (i *Informer[T]) indexEntries(snapshot *indexer.Snapshot[T], key string) []IndexEntry {
	failed := map[string]error{}
	for _, err := range i.index.Errors() {
		if err.Key == key {
			failed[err.Index] = err
		}
	}
	var entries []IndexEntry
	for _, name := range snapshot.IndexNames() {
		values, _ := snapshot.ValuesOf(name, key) // the name is one of its own
		entries = append(entries, IndexEntry{Index: name, Values: values, Err: failed[name]})
	}
	return entries
}

// shape says what keys look like.
type shape uint8

const (
	anyShape shape = iota
	namespaced
	clusterScoped
)

// shapeOf looks at one object.
func shapeOf[T Object](snapshot *indexer.Snapshot[T]) shape {
	for key := range snapshot.All() {
		if strings.Contains(key, "/") {
			return namespaced
		}
		return clusterScoped
	}
	return anyShape
}
