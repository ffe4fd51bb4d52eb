package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/internal/bubble"
)

// plain is something that a transform may make of an object.
type plain struct{ metav1.ObjectMeta }

func ptr[T any](value T) *T { return &value }

var none = cache.SharedIndexInformerOptions{}

var _ = Describe("A shared informer", func() {
	both(func(newInformer maker) {
		bubble.It("tells handlers of all changes, in order, initial ones as such", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			inf, h := r.pods(none), &recorder{}
			must(inf.AddEventHandler(h))
			run(inf)
			Expect(h.take()).To(Equal([]string{"initial a"}))
			r.create("b", nil)
			r.label("a", "x")
			r.delete("a")
			r.create("a", nil)
			Expect(h.take()).To(Equal([]string{"add b", "update a to a=x", "update a=x to a=x", "delete a=x", "add a"}))
		})

		bubble.It("replays the store to a late handler", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			inf, h := r.pods(none), &recorder{}
			run(inf)
			r.create("b", nil)
			synctest.Wait()
			reg := must(inf.AddEventHandler(h))
			Expect(h.take()).To(ConsistOf("initial a", "initial b"))
			Expect(reg.HasSynced()).To(BeTrue())
		})

		bubble.It("has a handler synced when its initial adds have returned", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			release := make(chan struct{})
			inf, h := r.pods(none), &recorder{onAdd: func(any) { <-release }}
			reg := must(inf.AddEventHandler(h))
			Expect(inf.HasSynced()).To(BeFalse())
			run(inf)
			Expect(inf.HasSynced()).To(BeTrue())
			Expect(inf.GetController().HasSynced()).To(BeTrue())
			Expect(cache.IsDone(inf.HasSyncedChecker())).To(BeTrue())
			Expect(reg.HasSynced()).To(BeFalse())
			close(release)
			<-reg.HasSyncedChecker().Done()
			Expect(reg.HasSynced()).To(BeTrue())
			Expect(reg.HasSyncedChecker().Name()).NotTo(BeEmpty())
		})

		bubble.It("drops a handler that is removed, also in itself, and again", func() {
			r := newRig(newInformer)
			inf, gone, stays := r.pods(none), &recorder{}, &recorder{}
			reg := must(inf.AddEventHandler(gone))
			must(inf.AddEventHandler(stays))
			gone.onAdd = func(any) { Expect(inf.RemoveEventHandler(reg)).To(Succeed()) }
			run(inf)
			r.create("a", nil)
			Expect(gone.take()).To(Equal([]string{"add a"}))
			r.create("b", nil)
			Expect(inf.RemoveEventHandler(reg)).To(Succeed())
			Expect(cache.ShutDownEventHandler(inf, reg)).To(Succeed())
			Expect(gone.take()).To(BeEmpty())
			Expect(stays.take()).To(Equal([]string{"add a", "add b"}))
			Expect(inf.RemoveEventHandler(nil)).NotTo(Succeed())
		})

		bubble.It("waits for the call in progress when a handler is shut down", func() {
			r := newRig(newInformer)
			entered, release := make(chan struct{}), make(chan struct{})
			inf, h := r.pods(none), &recorder{onAdd: func(any) { close(entered); <-release }}
			reg := must(inf.AddEventHandler(h))
			run(inf)
			r.create("a", nil)
			<-entered
			shut := make(chan error, 1)
			go func() { shut <- cache.ShutDownEventHandler(inf, reg) }()
			synctest.Wait()
			Expect(shut).NotTo(Receive())
			close(release)
			Expect(<-shut).To(Succeed())
		})

		bubble.It("shuts a handler down that was never started", func() {
			inf := newRig(newInformer).pods(none)
			Expect(cache.ShutDownEventHandler(inf, must(inf.AddEventHandler(&recorder{})))).To(Succeed())
		})

		bubble.It("takes a handler in a handler", func() {
			r := newRig(newInformer)
			inf, inner := r.pods(none), &recorder{}
			once := false
			must(inf.AddEventHandler(&recorder{onAdd: func(any) {
				if !once {
					once = true
					must(inf.AddEventHandler(inner))
				}
			}}))
			run(inf)
			r.create("a", nil)
			r.create("b", nil)
			Expect(inner.take()).To(ContainElements(HaveSuffix("a"), HaveSuffix("b")))
		})

		bubble.It("runs once, and can be read after that", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			inf := r.pods(none)
			must(inf.AddEventHandler(&recorder{}))
			stop := run(inf)
			inf.RunWithContext(bubble.Context()) // returns at once
			Expect(inf.IsStopped()).To(BeFalse())
			Expect(inf.SetTransform(nil)).NotTo(Succeed())
			Expect(inf.SetWatchErrorHandler(nil)).NotTo(Succeed())
			stop()
			Expect(inf.IsStopped()).To(BeTrue())
			Expect(inf.HasSynced()).To(BeTrue())
			Expect(inf.GetStore().ListKeys()).To(Equal([]string{"default/a"}))
			inf.Run(nil)
			_, err := inf.AddEventHandler(&recorder{})
			Expect(err).To(HaveOccurred())
			Expect(inf.AddIndexers(cache.Indexers{"late": cache.MetaNamespaceIndexFunc})).NotTo(Succeed())
		})

		bubble.It("may be stopped in a handler", func() {
			r := newRig(newInformer)
			ctx, cancel := context.WithCancel(bubble.Context())
			inf := r.pods(none)
			must(inf.AddEventHandler(&recorder{onAdd: func(any) { cancel() }}))
			r.create("a", nil)
			inf.RunWithContext(ctx)
			Expect(inf.IsStopped()).To(BeTrue())
		})

		bubble.It("caches what the transform makes, of any type", func() {
			r := newRig(newInformer)
			inf, h := r.pods(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"type": func(obj any) ([]string, error) {
				return []string{fmt.Sprintf("%T", obj)}, nil
			}}}), &recorder{}
			Expect(inf.SetTransform(func(obj any) (any, error) {
				if pod, ok := obj.(*corev1.Pod); ok { // client-go calls it with its own results, too
					return &plain{pod.ObjectMeta}, nil
				}
				return obj, nil
			})).To(Succeed())
			must(inf.AddEventHandler(h))
			r.create("a", nil)
			run(inf)
			r.label("a", "x")
			r.delete("a")
			r.create("b", nil)
			Expect(h.take()).To(Equal([]string{"initial a", "update a to a=x", "update a=x to a=x", "delete a=x", "add b"}))
			Expect(inf.GetStore().List()[0]).To(BeAssignableToTypeOf(&plain{}))
			Expect(inf.GetIndexer().ListIndexFuncValues("type")).To(Equal([]string{"*clientgo_test.plain"}))
			obj, found, err := inf.GetStore().Get(&plain{metav1.ObjectMeta{Namespace: "default", Name: "b"}})
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(BeTrue())
			Expect(obj).To(BeAssignableToTypeOf(&plain{}))
		})

		bubble.It("tells the watch error handler why it cannot list", func() {
			r := newRig(newInformer)
			r.refuse.Store(ptr(func(string) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("who are you"))
			}))
			inf := r.pods(none)
			var told []error
			Expect(inf.SetWatchErrorHandlerWithContext(func(ctx context.Context, by *cache.Reflector, err error) {
				cache.DefaultWatchErrorHandler(ctx, by, err)
				told = append(told, err)
			})).To(Succeed())
			run(inf)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			Expect(len(told)).To(BeNumerically(">", 2))
			Expect(apierrors.ReasonForError(told[0])).To(Equal(metav1.StatusReasonForbidden))
			Expect(inf.HasSynced()).To(BeFalse())
		})

		bubble.It("tells the watch error handler that a version is forgotten", func() {
			r := newRig(newInformer)
			inf := r.pods(none)
			var told []error
			Expect(inf.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { told = append(told, err) })).To(Succeed())
			run(inf)
			gone := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}}
			first := true
			r.refuse.Store(ptr(func(verb string) error {
				if verb == "watch" && first {
					first = false
					return gone
				}
				return nil
			}))
			time.Sleep(time.Minute) // client-go lists after a shorter watch
			r.server.DropWatches()
			time.Sleep(time.Minute)
			synctest.Wait()
			Expect(told).To(HaveLen(1))
			Expect(apierrors.IsResourceExpired(told[0])).To(BeTrue())
		})

		bubble.It("tells the watch error handler that nobody answers, not that a connection is refused", func() {
			for _, c := range []struct {
				err  error
				told bool
			}{{errors.New("no route"), true}, {syscall.ECONNREFUSED, false}} {
				r := newRig(newInformer)
				inf := r.pods(none)
				told := make(chan error, 1000)
				Expect(inf.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { told <- err })).To(Succeed())
				run(inf)
				time.Sleep(time.Minute) // client-go lists after a shorter watch
				r.refuse.Store(ptr(func(string) error { return c.err }))
				r.server.DropWatches()
				time.Sleep(time.Minute)
				synctest.Wait()
				Expect(len(told) > 0).To(Equal(c.told), "%v: %d", c.err, len(told))
				for range len(told) {
					Expect(<-told).To(MatchError(c.err))
				}
			}
		})

		bubble.It("tells of what it missed: ends as tombstones, another UID as an update", func() {
			r := newRig(newInformer)
			r.create("gone", nil)
			r.create("again", nil)
			inf, h := r.pods(none), &recorder{}
			uids := map[any]bool{}
			must(inf.AddEventHandler(h))
			must(inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
				uids[old.(*corev1.Pod).UID], uids[obj.(*corev1.Pod).UID] = true, true
			}}))
			run(inf)
			h.take()
			r.offline(func() {
				r.delete("gone")
				r.delete("again")
				r.create("again", map[string]string{"app": "new"})
			})
			calls := h.take() // client-go has a watch-list's objects in no order
			Expect(calls[0]).To(Equal("delete unseen default/gone was gone"))
			Expect(calls[1:]).To(ConsistOf("update again to again=new", "add filler"))
			Expect(uids).To(HaveLen(2))
		})

		bubble.It("resyncs handlers, but for those that do not want it", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			inf := r.pods(cache.SharedIndexInformerOptions{ResyncPeriod: 10 * time.Second})
			usual, often, never := &recorder{}, &recorder{}, &recorder{}
			must(inf.AddEventHandler(usual))
			must(inf.AddEventHandlerWithResyncPeriod(often, time.Millisecond)) // raised to a second
			must(inf.AddEventHandlerWithOptions(never, cache.HandlerOptions{ResyncPeriod: ptr(time.Duration(0))}))
			run(inf)
			for _, h := range []*recorder{usual, often, never} {
				Expect(h.take()).To(Equal([]string{"initial a"}))
			}
			time.Sleep(25500 * time.Millisecond)
			Expect(usual.take()).To(HaveLen(2))
			Expect(len(often.take())).To(BeNumerically("~", 25, 1))
			Expect(never.take()).To(BeEmpty())
		})

		bubble.It("resyncs nobody if it was made without a period", func() {
			r := newRig(newInformer)
			r.create("a", nil)
			inf, h := r.pods(none), &recorder{}
			must(inf.AddEventHandlerWithResyncPeriod(h, time.Second))
			run(inf)
			time.Sleep(time.Minute)
			Expect(h.take()).To(Equal([]string{"initial a"}))
		})

		bubble.It("leaves out objects of another type", func() {
			r := newRig(newInformer)
			inf, h := r.make(r.listWatch(), &corev1.Secret{}, none), &recorder{}
			must(inf.AddEventHandler(h))
			run(inf)
			r.create("a", nil)
			Expect(h.take()).To(BeEmpty())
		})

		bubble.It("can be used with types", func() {
			r := newRig(newInformer)
			inf := cache.NewTypedSharedIndexInformer[*corev1.Pod](r.pods(none))
			var ends []string
			must(inf.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
				DeleteFunc: func(gone cache.DeletedObject[*corev1.Pod]) { ends = append(ends, gone.OptionalObj.Name) },
			}))
			Expect(inf.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{"node": func(pod *corev1.Pod) ([]string, error) {
				return []string{pod.Spec.NodeName}, nil
			}})).To(Succeed())
			r.create("a", nil)
			run(inf)
			Expect(must(inf.GetTypedIndexer().ByTypedIndex("node", ""))).To(HaveLen(1))
			r.delete("a")
			synctest.Wait()
			Expect(ends).To(Equal([]string{"a"}))
		})
	})
})
