package differential

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// own is our informer.
type own[T informer.Object] struct {
	informer *informer.Informer[T]
	settings settings
	handlers map[string]*informer.Registration
}

// probeAfter is about what it is by default, and the begin of an interval.
const probeAfter = 12800 * time.Millisecond

func newOwn[T informer.Object](s *server, o settings) (contestant, error) {
	var options informer.Options[T]
	options.Reflector.ProbeAfter = probeAfter
	if !o.indexLater {
		options.Indexes = map[string]indexer.Func[T]{indexLabel: indexOf[T]}
	}
	if o.transform != nil {
		options.Transform = func(obj T) (T, error) {
			out, err := o.transform(obj)
			if err != nil {
				var none T
				return none, err
			}
			return out.(T), nil
		}
	}
	i, err := informer.New(reflector.FromListerWatcher[T](s), options)
	return &own[T]{informer: i, settings: o, handlers: map[string]*informer.Registration{}}, err
}

func indexOf[T informer.Object](obj T) []string { return indexValues(obj.GetLabels()) }

func (o *own[T]) addIndex() error { return o.informer.AddIndex(indexLabel, indexOf) }

func (o *own[T]) run(ctx context.Context) { _ = o.informer.Run(ctx) }

func (o *own[T]) addHandler(h *handler) error {
	key := func(obj T) string { return shortKey(obj.GetNamespace() + "/" + obj.GetName()) }
	resync := o.settings.resync
	if h.resync != nil {
		resync = *h.resync
	}
	options := []informer.HandlerOption{informer.WithName(h.name), informer.WithResync(resync)}
	if h.latestOnly {
		options = append(options, informer.WithLatestOnly())
	}
	registration, err := o.informer.AddHandler(informer.HandlerFuncs[T]{
		AddFunc:    func(obj T, initial bool) { h.added(key(obj), obj, initial) },
		UpdateFunc: func(old, obj T) { h.updated(key(obj), old, obj) },
		DeleteFunc: func(d informer.Deleted[T]) {
			h.deleted(shortKey(d.Key), d.Last, !d.Exact, fmt.Sprintf("Deleted{Exact: %v}", d.Exact))
		},
	}, options...)
	o.handlers[h.name] = registration
	return err
}

func (o *own[T]) removeHandler(name string) { o.handlers[name].Remove() }

func (o *own[T]) synced(handler string) bool {
	if handler == "" {
		return o.informer.Status().Synced
	}
	select {
	case <-o.handlers[handler].Synced():
		return true
	default:
		return false
	}
}

func (o *own[T]) store() (string, []any, func(string) []string) {
	snapshot := o.informer.Snapshot()
	var objects []any
	for _, obj := range snapshot.All() {
		objects = append(objects, runtime.Object(obj))
	}
	return snapshot.ResourceVersion(), objects, func(value string) (keys []string) {
		found, _ := snapshot.ByIndex(indexLabel, value)
		for key := range found {
			keys = append(keys, key)
		}
		return keys
	}
}

// ended is a context that has no time left.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (o *own[T]) ask(question string, words []string) string {
	switch question {
	case "why":
		var sync *informer.SyncError
		if !errors.As(o.informer.WaitForSync(ended()), &sync) {
			return "synced: yes"
		}
		r := sync.Status.Reflector
		return fmt.Sprintf("synced: no, %s, failures: %d, last: %s %d %s", sync.Status.Phase, r.Tries, r.LastVerb, r.HTTPStatus, r.Reason)
	case "wait":
		if o.informer.WaitFor(ended(), words[0]) == nil {
			return fmt.Sprintf("waited for %s", words[0])
		}
		return fmt.Sprintf("still waiting for %s", words[0])
	case "trouble":
		return o.trouble()
	}
	return "what?"
}

// trouble is what Status tells of it.
func (o *own[T]) trouble() string {
	status := o.informer.Status()
	var words []string
	if n := status.Reflector.Rewinds; n > 0 {
		words = append(words, fmt.Sprintf("rewinds: %d", n))
	}
	for _, failed := range status.Transform.Objects {
		words = append(words, fmt.Sprintf("failed: %s@%s", shortKey(failed.Key), failed.ResourceVersion))
	}
	for _, handler := range status.Handlers {
		if handler.Depth > 0 {
			words = append(words, fmt.Sprintf("%s is %s behind", handler.Name, count(handler.Depth, "call")))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}
