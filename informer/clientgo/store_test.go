package clientgo_test

import (
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/internal/bubble"
)

// newPod is a pod that no server knows.
func newPod(namespace, name, version string, apps ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: version}}
	for _, app := range apps {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, app, "")
	}
	return pod
}

// byApps has a value for each annotation.
func byApps(obj any) ([]string, error) {
	var values []string
	for app := range obj.(metav1.Object).GetAnnotations() {
		values = append(values, app)
	}
	return values, nil
}

var _ = Describe("The store of a shared informer", func() {
	both(func(newInformer maker) {
		bubble.It("can be read by key, object, tombstone and index", func() {
			r := newRig(newInformer)
			inf := r.pods(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}})
			pod := r.create("a", map[string]string{"app": "x"})
			r.create("b", nil)
			run(inf)
			x := inf.GetIndexer()
			for _, by := range []any{pod, cache.ExplicitKey("default/a"), cache.DeletedFinalStateUnknown{Key: "default/a"}} {
				obj, found, err := x.Get(by)
				Expect(err).NotTo(HaveOccurred())
				Expect(found).To(BeTrue())
				Expect(obj.(*corev1.Pod).UID).To(Equal(pod.UID))
			}
			_, found, err := x.GetByKey("default/none")
			Expect(found, err).To(BeFalse())
			_, _, err = x.Get("no object")
			Expect(err).To(BeAssignableToTypeOf(cache.KeyError{}))
			Expect(x.List()).To(HaveLen(2))
			Expect(x.ListKeys()).To(ConsistOf("default/a", "default/b"))
			Expect(must(x.ByIndex(cache.NamespaceIndex, "default"))).To(HaveLen(2))
			Expect(must(x.IndexKeys(cache.NamespaceIndex, "default"))).To(ConsistOf("default/a", "default/b"))
			Expect(must(x.Index(cache.NamespaceIndex, &metav1.ObjectMeta{Namespace: "default"}))).To(HaveLen(2))
			Expect(must(x.Index(cache.NamespaceIndex, &metav1.ObjectMeta{Namespace: "none"}))).To(BeEmpty())
			Expect(x.ListIndexFuncValues(cache.NamespaceIndex)).To(Equal([]string{"default"}))
			lister := listers.NewPodLister(x)
			Expect(must(lister.Pods("default").List(labels.SelectorFromSet(labels.Set{"app": "x"})))).To(HaveLen(1))
			Expect(must(lister.List(labels.Everything()))).To(HaveLen(2))
			_, err = lister.Pods("default").Get("none")
			Expect(apierrors.IsNotFound(err)).To(BeTrue())
		})

		bubble.It("takes indexes before and after the start, each once", func() {
			r := newRig(newInformer)
			inf := r.pods(none)
			Expect(inf.AddIndexers(cache.Indexers{"early": cache.MetaNamespaceIndexFunc})).To(Succeed())
			r.create("a", nil)
			run(inf)
			Expect(inf.AddIndexers(cache.Indexers{"late": cache.MetaNamespaceIndexFunc})).To(Succeed())
			Expect(inf.AddIndexers(cache.Indexers{"late": cache.MetaNamespaceIndexFunc, "new": cache.MetaNamespaceIndexFunc})).NotTo(Succeed())
			x := inf.GetIndexer()
			Expect(x.GetIndexers()).To(And(HaveLen(2), HaveKey("early"), HaveKey("late")))
			for _, name := range []string{"early", "late"} {
				Expect(must(x.ByIndex(name, "default"))).To(HaveLen(1))
			}
			_, err := x.ByIndex("new", "default")
			Expect(err).To(MatchError(ContainSubstring("does not exist")))
			_, err = x.IndexKeys("new", "default")
			Expect(err).To(HaveOccurred())
			_, err = x.Index("new", newPod("default", "a", "1"))
			Expect(err).To(HaveOccurred())
			Expect(x.ListIndexFuncValues("new")).To(BeEmpty())
		})

		bubble.It("can be written to while nothing runs", func() {
			inf := newRig(newInformer).pods(cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"apps": byApps}})
			x := inf.GetIndexer()
			Expect(x.Add(newPod("n", "a", "1", "x", "y"))).To(Succeed())
			Expect(x.Add(newPod("n", "b", "2", "y", "z"))).To(Succeed())
			Expect(x.LastStoreSyncResourceVersion()).To(Equal("2"))
			Expect(must(x.Index("apps", newPod("", "", "", "x", "y")))).To(HaveLen(2)) // each once
			Expect(x.ListIndexFuncValues("apps")).To(ConsistOf("x", "y", "z"))
			Expect(x.Update(newPod("n", "a", "3"))).To(Succeed())
			Expect(must(x.ByIndex("apps", "x"))).To(BeEmpty())
			Expect(x.Delete(cache.DeletedFinalStateUnknown{Key: "n/b"})).To(Succeed())
			Expect(x.ListKeys()).To(Equal([]string{"n/a"}))
			Expect(x.LastStoreSyncResourceVersion()).To(Equal("3"))
			Expect(x.Add("no object")).To(BeAssignableToTypeOf(cache.KeyError{}))
			Expect(x.Replace([]any{newPod("n", "c", "4")}, "9")).To(Succeed())
			Expect(x.ListKeys()).To(Equal([]string{"n/c"}))
			Expect(x.LastStoreSyncResourceVersion()).To(Equal("9"))
			x.Bookmark("12")
			Expect(x.LastStoreSyncResourceVersion()).To(Equal("12"))
			Expect(x.Resync()).To(Succeed())
		})

		bubble.It("takes several writes at once", func() {
			x := newRig(newInformer).pods(none).GetStore()
			Expect(x.Add(newPod("n", "gone", "1"))).To(Succeed())
			failed := x.(cache.TransactionStore).Transaction(
				cache.Transaction{Type: cache.TransactionTypeAdd, Object: newPod("n", "a", "5")},
				cache.Transaction{Type: cache.TransactionTypeDelete, Object: newPod("n", "gone", "6")},
				cache.Transaction{Type: cache.TransactionTypeUpdate, Object: newPod("n", "a", "7")},
			)
			Expect(failed).To(BeNil())
			Expect(x.ListKeys()).To(Equal([]string{"n/a"}))
			Expect(x.LastStoreSyncResourceVersion()).To(Equal("7"))
			failed = x.(cache.TransactionStore).Transaction(
				cache.Transaction{Type: cache.TransactionTypeAdd, Object: "no object"},
				cache.Transaction{Type: cache.TransactionTypeAdd, Object: newPod("n", "b", "8")},
			)
			Expect(failed.SuccessfulIndices).To(Equal([]int{1}))
			Expect(failed.Errors).To(HaveLen(1))
			Expect(x.ListKeys()).To(ConsistOf("n/a", "n/b"))
		})

		bubble.It("yields to the server", func() {
			r := newRig(newInformer)
			inf, h := r.pods(none), &recorder{}
			must(inf.AddEventHandler(h))
			Expect(inf.GetStore().Add(newPod("default", "mine", "1"))).To(Succeed())
			r.create("theirs", nil)
			run(inf)
			Expect(inf.GetStore().ListKeys()).To(Equal([]string{"default/theirs"}))
			Expect(h.take()).To(Equal([]string{"delete unseen default/mine was mine", "initial theirs"}))
			Expect(inf.GetStore().Delete(newPod("default", "theirs", ""))).To(Succeed())
			r.label("theirs", "x")
			Expect(h.take()).To(Equal([]string{"add theirs=x"}))
		})

		bubble.It("tells its version, which bookmarks move", func() {
			r := newRig(newInformer)
			inf := r.pods(none)
			pod := r.create("a", nil)
			run(inf)
			Expect(inf.GetStore().LastStoreSyncResourceVersion()).To(Equal(pod.ResourceVersion))
			Expect(inf.LastSyncResourceVersion()).To(Equal(pod.ResourceVersion))
			other := must(r.client.CoreV1().ConfigMaps("default").Create(bubble.Context(),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}))
			Expect(r.server.SendBookmarks(bubble.Context(), other.ResourceVersion)).To(Succeed())
			synctest.Wait()
			Expect(inf.GetStore().LastStoreSyncResourceVersion()).To(Equal(other.ResourceVersion))
			Expect(inf.GetController().LastSyncResourceVersion()).To(Equal(other.ResourceVersion))
		})
	})
})
