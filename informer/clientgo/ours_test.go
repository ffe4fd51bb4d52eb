package clientgo_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

var ours maker = clientgo.NewSharedIndexInformerWithOptions

var _ = Describe("Our shared informer", func() {
	bubble.It("gives the Informer behind it, whose objects are those of the store", func() {
		r := newRig(ours)
		r.create("a", nil)
		shared := r.pods(none)
		inf, ok := clientgo.Of(shared)
		Expect(ok).To(BeTrue())
		_, ok = clientgo.Of(cache.NewSharedIndexInformer(r.listWatch(), nil, 0, nil))
		Expect(ok).To(BeFalse())
		run(shared)
		obj, _, _ := shared.GetStore().GetByKey("default/a")
		behind, _ := inf.Snapshot().Get("default/a")
		Expect(clientgo.Value(behind)).To(BeIdenticalTo(obj))
		pod := r.create("b", nil)
		Expect(inf.WaitFor(bubble.Context(), pod.ResourceVersion)).To(Succeed())
		_, found, _ := shared.GetStore().GetByKey("default/b")
		Expect(found).To(BeTrue())
	})

	bubble.It("tells nobody of objects that a relist finds unchanged", func() {
		r := newRig(ours)
		r.create("a", nil)
		inf, h := r.pods(none), &recorder{}
		must(inf.AddEventHandler(h))
		run(inf)
		before, _, _ := inf.GetStore().GetByKey("default/a")
		Expect(h.take()).To(HaveLen(1))
		r.offline(func() {})
		Expect(h.take()).To(Equal([]string{"add filler"}))
		after, _, _ := inf.GetStore().GetByKey("default/a")
		Expect(after).To(BeIdenticalTo(before))
	})

	bubble.It("calls the transform once for each object, and survives its failures", func() {
		r := newRig(ours)
		for _, name := range []string{"a", "bad", "c"} {
			r.create(name, nil)
		}
		inf := r.pods(none)
		var calls atomic.Int64
		Expect(inf.SetTransform(func(obj any) (any, error) {
			calls.Add(1)
			switch obj.(*corev1.Pod).Name {
			case "bad":
				return nil, errors.New("do not like it")
			case "c":
				return nil, nil
			}
			return obj, nil
		})).To(Succeed())
		run(inf)
		Expect(inf.HasSynced()).To(BeTrue())
		Expect(inf.GetStore().ListKeys()).To(Equal([]string{"default/a"}))
		Expect(calls.Load()).To(Equal(int64(3)))
		behind, _ := clientgo.Of(inf)
		Expect(behind.Status().Transform.Standing).To(Equal(2))
	})

	bubble.It("leaves an object out of an index whose function fails, and of nothing else", func() {
		r := newRig(ours)
		inf := r.pods(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{
			"fails":  func(any) ([]string, error) { return nil, errors.New("no") },
			"panics": func(any) ([]string, error) { panic("no") },
			"works":  func(any) ([]string, error) { return []string{"x"}, nil },
		}})
		r.create("a", nil)
		run(inf)
		Expect(must(inf.GetIndexer().ByIndex("works", "x"))).To(HaveLen(1))
		Expect(inf.GetIndexer().ListIndexFuncValues("fails")).To(BeEmpty())
		Expect(inf.GetIndexer().ListIndexFuncValues("panics")).To(BeEmpty())
	})

	bubble.It("has as many goroutines as handlers, and one, however many events there are", func() {
		r := newRig(ours)
		inf := r.pods(none)
		run(inf)
		r.create("connects", nil)
		synctest.Wait()
		base := bubble.Goroutines()
		for range 10 {
			must(inf.AddEventHandler(&recorder{}))
		}
		for k := range 50 {
			r.create(fmt.Sprint("pod-", k), nil)
		}
		synctest.Wait()
		Expect(bubble.Goroutines()).To(Equal(base + 10))
	})

	bubble.It("stops at once, in the middle of a backoff too", func() {
		r := newRig(ours)
		r.refuse.Store(ptr(func(string) error { return errors.New("no way") }))
		stop := run(r.pods(none))
		time.Sleep(time.Minute)
		before := time.Now()
		stop()
		Expect(time.Since(before)).To(BeZero())
	})

	bubble.It("does not modify the map of indexers that it was given", func() {
		given := cache.Indexers{}
		inf := newRig(ours).pods(cache.SharedIndexInformerOptions{Indexers: given})
		Expect(inf.AddIndexers(cache.Indexers{"n": cache.MetaNamespaceIndexFunc})).To(Succeed())
		Expect(given).To(BeEmpty())
		inf.GetIndexer().GetIndexers()["other"] = nil
		Expect(inf.GetIndexer().GetIndexers()).To(HaveLen(1))
	})

	bubble.It("adds no index if one of them is there already, by way of Of", func() {
		inf := newRig(ours).pods(none)
		inner, _ := clientgo.Of(inf)
		Expect(inner.AddIndex("taken", func(clientgo.Object) []string { return nil })).To(Succeed())
		for range 10 { // a map's order is not the same each time
			Expect(inf.AddIndexers(cache.Indexers{"new": cache.MetaNamespaceIndexFunc, "taken": cache.MetaNamespaceIndexFunc})).To(MatchError(clientgo.ErrIndexExists))
		}
		Expect(inf.GetIndexer().GetIndexers()).To(BeEmpty())
		Expect(inf.AddIndexers(cache.Indexers{"new": cache.MetaNamespaceIndexFunc})).To(Succeed())
	})

	bubble.It("refuses registrations of another make, and leaves those of other informers alone", func() {
		r := newRig(ours)
		a, b := r.pods(none), r.pods(none)
		h := &recorder{}
		reg := must(a.AddEventHandler(h))
		Expect(b.RemoveEventHandler(reg)).To(Succeed())
		Expect(b.RemoveEventHandler(nil)).To(MatchError(clientgo.ErrForeign))
		_, err := a.AddEventHandler(nil)
		Expect(err).To(HaveOccurred())
		run(a)
		r.create("a", nil)
		Expect(h.take()).To(Equal([]string{"add a"}))
	})

	bubble.It("takes objects whose version or UID the transform has removed", func() {
		r := newRig(ours)
		r.create("a", nil)
		inf, h := r.pods(none), &recorder{}
		Expect(inf.SetTransform(func(obj any) (any, error) {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: obj.(*corev1.Pod).Name, Namespace: "default"}}, nil
		})).To(Succeed())
		must(inf.AddEventHandler(h))
		run(inf)
		r.label("a", "x")
		Expect(h.take()).To(Equal([]string{"initial a", "update a to a"}))
	})
})
