package differential

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer/clientgo"
)

// upstream is client-go's informer, or ours behind client-go's interface.
type upstream struct {
	informer cache.SharedIndexInformer
	settings settings
	handlers map[string]cache.ResourceEventHandlerRegistration
}

func newUpstream(s *server, o settings) (contestant, error) {
	return newShared(s, o, cache.NewSharedIndexInformer)
}

// newDropIn makes our informer behind client-go's interface.
func newDropIn(s *server, o settings) (contestant, error) {
	return newShared(s, o, clientgo.NewSharedIndexInformer)
}

// sharedMaker is the type of constructors of shared informers.
type sharedMaker func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

func newShared(s *server, o settings, newInformer sharedMaker) (contestant, error) {
	u := &upstream{settings: o, handlers: map[string]cache.ResourceEventHandlerRegistration{}}
	u.informer = newInformer(s, o.kind.example(), o.resync, cache.Indexers{})
	if !o.indexLater {
		if err := u.addIndex(); err != nil {
			return nil, err
		}
	}
	if o.transform == nil {
		return u, nil
	}
	return u, u.informer.SetTransform(func(obj any) (any, error) {
		if _, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			return obj, nil
		}
		return o.transform(obj.(runtime.Object))
	})
}

func (u *upstream) addIndex() error {
	return u.informer.AddIndexers(cache.Indexers{indexLabel: func(obj any) ([]string, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		return indexValues(m.GetLabels()), nil
	}})
}

// indexValues is the index of both sides.
func indexValues(labels map[string]string) []string {
	if on := labels[indexLabel]; on != "" {
		return []string{on}
	}
	return nil
}

func (u *upstream) run(ctx context.Context) { u.informer.RunWithContext(ctx) }

func (u *upstream) addHandler(h *handler) error {
	key := func(obj any) string {
		key, _ := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		return shortKey(key)
	}
	registration, err := u.informer.AddEventHandlerWithOptions(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { h.added(key(obj), obj, initial) },
		UpdateFunc: func(old, obj any) { h.updated(key(obj), old, obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				h.deleted(key(obj), unknown.Obj, true, fmt.Sprintf("%T", obj))
				return
			}
			h.deleted(key(obj), obj, false, fmt.Sprintf("%T", obj))
		},
	}, cache.HandlerOptions{ResyncPeriod: h.resync})
	u.handlers[h.name] = registration
	return err
}

func (u *upstream) removeHandler(name string) { _ = u.informer.RemoveEventHandler(u.handlers[name]) }

func (u *upstream) synced(handler string) bool {
	if handler == "" {
		return u.informer.HasSynced()
	}
	return u.handlers[handler].HasSynced()
}

func (u *upstream) store() (string, []any, func(string) []string) {
	indexer := u.informer.GetIndexer()
	return indexer.LastStoreSyncResourceVersion(), indexer.List(), func(value string) []string {
		keys, _ := indexer.IndexKeys(indexLabel, value)
		return keys
	}
}

func (u *upstream) ask(question string, words []string) string {
	switch question {
	case "why": // it has not synced
		return "synced: " + yesNo(u.informer.HasSynced())
	case "wait":
		return fmt.Sprintf("no way to wait for %s; the store is at %s", words[0], u.informer.GetIndexer().LastStoreSyncResourceVersion())
	case "trouble":
		return "not known"
	}
	return "what?"
}
