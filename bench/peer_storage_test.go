package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	upstream "k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

// peerStorage lets kube-apiserver's watch cache follow our store: what its etcd3
// storage is to etcd. Like that it has one goroutine per watch, which decodes
// and sends into a channel of 100.
type peerStorage struct {
	upstream.Interface // is nil: writes, which benchmarks send to the store itself
	memory             *storage.Memory
	decode             decode

	mu      sync.Mutex
	watches map[*peerWatch]struct{} // guarded by mu
}

var _ upstream.Interface = (*peerStorage)(nil)

// supportsProgress is what the checker says of a new etcd.
type supportsProgress struct {
	etcdfeature.FeatureSupportChecker
}

func (supportsProgress) Supports(upstream.Feature) bool { return true }

func init() {
	etcdfeature.DefaultFeatureSupportChecker = supportsProgress{etcdfeature.NewDefaultFeatureSupportChecker()}
}

// IsWatchListSemanticsUnSupported lets the cache list and then watch.
func (s *peerStorage) IsWatchListSemanticsUnSupported() bool { return true }

func (s *peerStorage) Versioner() upstream.Versioner { return upstream.APIObjectVersioner{} }

func (s *peerStorage) Get(ctx context.Context, key string, opts upstream.GetOptions, into runtime.Object) error {
	kv, err := s.memory.Get(ctx, key, 0)
	if errors.Is(err, storage.ErrNotFound) {
		if opts.IgnoreNotFound {
			*into.(*corev1.Pod) = corev1.Pod{}
			return nil
		}
		return upstream.NewKeyNotFoundError(key, 0)
	}
	if err != nil {
		return err
	}
	obj, err := s.decode(kv)
	if err != nil {
		return err
	}
	*into.(*corev1.Pod) = *obj.(*corev1.Pod)
	return nil
}

// GetList answers what the cache needs for itself: everything, in one page.
func (s *peerStorage) GetList(ctx context.Context, key string, opts upstream.ListOptions, into runtime.Object) error {
	if opts.Predicate.Continue != "" || opts.ResourceVersionMatch != "" {
		return fmt.Errorf("bench: a list that the cache was to answer reached the store: %+v", opts)
	}
	result, err := s.memory.List(ctx, key, storage.ListOptions{})
	if err != nil {
		return err
	}
	list := into.(*corev1.PodList)
	list.Items = make([]corev1.Pod, 0, len(result.KVs))
	for _, kv := range result.KVs {
		obj, err := s.decode(kv)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *obj.(*corev1.Pod))
	}
	return s.Versioner().UpdateList(list, uint64(result.Revision), "", nil)
}

func (s *peerStorage) Stats(context.Context) (upstream.Stats, error)        { return upstream.Stats{}, nil }
func (s *peerStorage) ReadinessCheck() error                                { return nil }
func (s *peerStorage) EnableResourceSizeEstimation(upstream.KeysFunc) error { return nil }
func (s *peerStorage) CompactRevision() int64                               { return 0 }

func (s *peerStorage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	revision, err := s.memory.CurrentRevision(ctx)
	return uint64(revision), err
}

func (s *peerStorage) RequestWatchProgress(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.source.RequestProgress()
	}
	return nil
}

func (s *peerStorage) Watch(ctx context.Context, key string, opts upstream.ListOptions) (watch.Interface, error) {
	revision, err := strconv.ParseInt(opts.ResourceVersion, 10, 64)
	if err != nil {
		return nil, err
	}
	source, err := s.memory.Watch(ctx, key, storage.WatchOptions{Revision: revision})
	if err != nil {
		return nil, err
	}
	w := &peerWatch{storage: s, source: source, stamped: opts.RecordTimestamps, results: make(chan watch.Event, 100)}
	w.ctx, w.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	if s.watches == nil {
		s.watches = map[*peerWatch]struct{}{}
	}
	s.watches[w] = struct{}{}
	s.mu.Unlock()
	go w.run()
	return w, nil
}

type peerWatch struct {
	storage *peerStorage
	source  storage.Watch
	stamped bool
	ctx     context.Context
	cancel  context.CancelFunc
	results chan watch.Event
}

func (w *peerWatch) ResultChan() <-chan watch.Event { return w.results }
func (w *peerWatch) Stop()                          { w.cancel() }

func (w *peerWatch) run() {
	defer close(w.results)
	defer func() {
		w.source.Close()
		w.storage.mu.Lock()
		delete(w.storage.watches, w)
		w.storage.mu.Unlock()
	}()
	for {
		events, err := w.source.Next(w.ctx)
		if err != nil {
			return
		}
		for _, event := range events {
			made, err := w.convert(event)
			if err != nil {
				return
			}
			select {
			case w.results <- made:
			case <-w.ctx.Done():
				return
			}
		}
	}
}

func (w *peerWatch) convert(event storage.Event) (watch.Event, error) {
	if event.Type == storage.Progress {
		pod := &corev1.Pod{}
		pod.ResourceVersion = text(event.KV.ModRevision)
		return watch.Event{Type: watch.Bookmark, Object: pod}, nil
	}
	obj, err := w.storage.decode(event.KV)
	if err != nil {
		return watch.Event{}, err
	}
	if w.stamped {
		obj = &stamped{Object: obj, at: time.Now()}
	}
	switch {
	case event.Type == storage.Delete:
		return watch.Event{Type: watch.Deleted, Object: obj}, nil
	case event.Prev == nil:
		return watch.Event{Type: watch.Added, Object: obj}, nil
	default:
		return watch.Event{Type: watch.Modified, Object: obj}, nil
	}
}

// stamped is an object with the time of its decoding, which the cache asks for.
type stamped struct {
	runtime.Object
	at time.Time
}

var _ upstream.WatchEventWithRecordTime = (*stamped)(nil)

func (s *stamped) RecordTime() time.Time        { return s.at }
func (s *stamped) Unwrap() runtime.Object       { return s.Object }
func (s *stamped) GetObjectMeta() metav1.Object { return s.Object.(metav1.Object) }
