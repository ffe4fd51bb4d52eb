package factory

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// definitions is the resource of CustomResourceDefinitions.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

const (
	// firstRetry, lastRetry: how often a resource is asked for while nobody knows
	// whether it exists.
	firstRetry, lastRetry = time.Second, 30 * time.Second
	// patience is how often it is asked for while its CustomResourceDefinition is
	// known not to exist. Something else may serve it.
	patience = 5 * time.Minute
	// disbelief is how many 404 in a row it takes to let go of a collection whose
	// definition is not known to be gone: it may be that it serves another version now.
	disbelief = 3
)

// WithWaiting waits for a resource that does not exist yet, such as one whose
// CustomResourceDefinition is to be installed later, and lets go of what is cached
// when it goes away: see reflector.Options.Absence and reflector.Absent.
//
// While any informer waits, the metadata of all CustomResourceDefinitions is listed
// and watched, once for the Factory, so that it goes on when the definition becomes
// ready: at once, or a second later if the server is not ready when it says so.
// Where that is not permitted, the resource is asked for after one second, then two,
// up to every 30.
//
// Without the option a 404 is a failure like others, which is tried again.
func WithWaiting() Option { return func(r *request) { r.settings.waiting = true } }

// absence knows of a resource what its CustomResourceDefinition tells. It may
// serve several reflectors.
type absence struct {
	definitions *informer.Informer[*metav1.PartialObjectMetadata] // running while somebody waits
	name        string                                            // of the definition

	mu      sync.Mutex
	version string    // of the definition, when it was last seen
	changed time.Time // when that version was seen first
}

// newDefinitions returns what makes the informer of definitions when it is needed
// for the first time.
func (f *Factory) newDefinitions() func() (*informer.Informer[*metav1.PartialObjectMetadata], error) {
	return sync.OnceValues(func() (*informer.Informer[*metav1.PartialObjectMetadata], error) {
		return create[*metav1.PartialObjectMetadata](f, &request{
			key: key{resource: definitions, as: metadataType}, settings: settings{reflector: f.reflector},
		})
	})
}

// absence makes the Absence of a resource.
func (f *Factory) absence(resource schema.GroupVersionResource) (reflector.Absence, error) {
	all, err := f.definitions()
	if err != nil {
		return nil, fmt.Errorf("watch of CustomResourceDefinitions: %w", err)
	}
	return &absence{definitions: all, name: resource.GroupResource().String()}, nil
}

// Absent implements reflector.Absence. Objects are let go of at once if the definition
// is known to be gone, else after a while.
func (a *absence) Absent(tries int, synced bool) bool {
	if !synced {
		return true
	}
	exists, known := a.exists()
	return known && !exists || tries >= disbelief
}

// exists reports whether the definition exists, and whether that is known.
func (a *absence) exists() (exists, known bool) {
	_, exists = a.definition(a.definitions.Snapshot())
	return exists, a.definitions.Status().Synced
}

// definition is that of the resource, unless it is being deleted.
func (a *absence) definition(in *indexer.Snapshot[*metav1.PartialObjectMetadata]) (*metav1.PartialObjectMetadata, bool) {
	definition, exists := in.Get(a.name)
	return definition, exists && definition.DeletionTimestamp == nil
}

// Await implements reflector.Absence: it waits for a change of the definition, or
// for some time.
func (a *absence) Await(ctx context.Context, tries int) {
	lease, err := a.definitions.Acquire(ctx)
	if err != nil { // ctx has ended: nobody else runs it
		return
	}
	defer func() { _ = lease.Close() }()
	began := time.Now()
	for pause := retryAfter(tries); ; pause = patience - time.Since(began) {
		snapshot := a.definitions.Snapshot()
		if definition, exists := a.definition(snapshot); exists {
			pause = a.unserved(definition.ResourceVersion)
		}
		changed, err := a.definitions.Watch(snapshot, indexer.Key(a.name))
		if err != nil { // there is no such query
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed.Changed():
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		changed.Stop()
		exists, known := a.exists()
		if exists || !known || ctx.Err() != nil || time.Since(began) >= patience {
			return
		}
	}
}

// unserved is how long to wait for a definition that exists and is not served yet.
// The last of its changes may have been seen before the server acted on it, so it
// grows with the time since that, however often the resource was asked for before.
func (a *absence) unserved(version string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if version != a.version {
		a.version, a.changed = version, time.Now()
	}
	return min(max(time.Since(a.changed), firstRetry), lastRetry)
}

// retryAfter grows from firstRetry to lastRetry.
func retryAfter(tries int) time.Duration {
	pause := firstRetry
	for ; tries > 1 && pause < lastRetry; tries-- {
		pause *= 2
	}
	return min(pause, lastRetry)
}
