package endtoend_test

import (
	"fmt"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/internal/bubble"
)

var _ = Describe("A day with a change a minute", func() {
	bubble.It("leaves our informer and client-go's in step with the server after every change", func() {
		r := newRig()
		ours, _ := r.informer(informer.Options[*corev1.ConfigMap]{})
		theirs := stock(r)

		begin := time.Now()
		for minute := range 24 * 60 {
			change(r, minute)
			synctest.Wait()
			served := r.served()
			Expect(cached(ours)).To(Equal(served), "ours, minute %d", minute)
			Expect(stored(theirs)).To(Equal(served), "client-go's, minute %d", minute)
			time.Sleep(time.Minute)
		}
		Expect(time.Since(begin)).To(Equal(24 * time.Hour))
		// A watch lives five to ten minutes, so this many must have been opened,
		// and neither informer may have needed a second list.
		counts := r.wire.taken()
		Expect(counts["watch"]).To(And(BeNumerically(">", 2*24*6), BeNumerically("<", 2*24*13)), "%v", counts)
		Expect(counts["watch-list"]).To(Equal(2), "%v", counts)
		Expect(counts["list"]).To(BeZero(), "%v", counts)
	})
})

// change makes one change: in turn an object is created, updated and deleted,
// while every twelfth stays.
func change(r *rig, minute int) {
	name := fmt.Sprintf("minute-%d", minute-minute%3)
	switch minute % 3 {
	case 0:
		r.create(name)
	case 1:
		r.update(name, fmt.Sprint(minute))
	case 2:
		if minute%12 != 2 {
			r.delete(name)
		} else {
			r.update(name, "stays")
		}
	}
}

// stock starts client-go's informer over the same ConfigMaps.
func stock(r *rig) cache.SharedIndexInformer {
	GinkgoHelper()
	factory := informers.NewSharedInformerFactoryWithOptions(r.reader, 0, informers.WithNamespace(metav1.NamespaceDefault))
	shared := factory.Core().V1().ConfigMaps().Informer()
	factory.StartWithContext(r.ctx)
	bubble.Cleanup(factory.Shutdown)
	Expect(cache.WaitForCacheSync(r.ctx.Done(), shared.HasSynced)).To(BeTrue())
	return shared
}

func stored(shared cache.SharedIndexInformer) map[string]string {
	versions := map[string]string{}
	for _, object := range shared.GetStore().List() {
		m := object.(*corev1.ConfigMap)
		versions[m.Name] = m.ResourceVersion
	}
	return versions
}
