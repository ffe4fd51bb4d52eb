package clientgo_test

import (
	"fmt"
	"sync"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

// meters are metrics of all kinds, of which they keep the values.
type meters struct {
	mu       sync.Mutex
	made     []string
	of       []schema.GroupVersionResource // the resources of made
	values   map[string]float64
	observed int
}

// ofProcess is the provider that informers without one of their own take.
var ofProcess = &meters{}

func (m *meters) make(kind string, id cache.InformerNameAndResource) meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of = append(m.of, id.GroupVersionResource())
	m.made = append(m.made, fmt.Sprint(kind, " ", id.Name(), " ", id.GroupVersionResource()))
	return meter{m, kind}
}

// NewQueuedItemMetric implements cache.InformerMetricsProvider.
func (m *meters) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return m.make("queued", id)
}

// NewProcessingLatencyMetric implements cache.InformerMetricsProvider.
func (m *meters) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	return m.make("latency", id)
}

// NewStoreResourceVersionMetric implements cache.InformerMetricsProvider.
func (m *meters) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return m.make("version", id)
}

// read returns a value, "none" of one that was never set.
func (m *meters) read(kind string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.values[kind]; ok {
		return fmt.Sprint(int64(value))
	}
	return "none"
}

// take returns the metrics made since the last take.
func (m *meters) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := m.made
	m.made, m.of = nil, nil
	return made
}

// meter is one of them.
type meter struct {
	in   *meters
	kind string
}

// Set implements cache.GaugeMetric.
func (m meter) Set(value float64) {
	m.in.mu.Lock()
	defer m.in.mu.Unlock()
	if m.in.values == nil {
		m.in.values = map[string]float64{}
	}
	m.in.values[m.kind] = value
}

// Observe implements cache.HistogramMetric.
func (m meter) Observe(seconds float64) {
	m.Set(seconds)
	m.in.mu.Lock()
	defer m.in.mu.Unlock()
	m.in.observed++
}

// count is the number of observations.
func (m *meters) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.observed
}

// newName is a name that is released at the end.
func newName(name string) *cache.InformerName {
	GinkgoHelper()
	reserved := must(cache.NewInformerName(name))
	bubble.Cleanup(reserved.Release)
	return reserved
}

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

var _ = Describe("The metrics of a shared informer", func() {
	both(func(newInformer maker) {
		series := func(given, used *meters) {
			GinkgoHelper()
			r := newRig(newInformer)
			pod := r.create("a", nil)
			entered, release := make(chan struct{}), make(chan struct{})
			inf := r.pods(cache.SharedIndexInformerOptions{
				Identifier: newName("name").WithResource(podsResource), InformerMetricsProvider: provider(given),
				Indexers: cache.Indexers{"slow": func(obj any) ([]string, error) {
					if obj.(*corev1.Pod).Name == "slow" {
						entered <- struct{}{}
						<-release
					}
					return nil, nil
				}},
			})
			Expect(used.take()).To(Equal([]string{"version name /v1, Resource=pods"}))
			var seen []string
			must(inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen = append(seen, used.read("version")) }}))
			run(inf)
			Expect(used.take()).To(Equal([]string{"queued name /v1, Resource=pods", "latency name /v1, Resource=pods"}))
			Expect(used.read("version")).To(Equal(pod.ResourceVersion))
			Expect(used.read("queued")).To(Equal("0"))
			before := used.count()
			Expect(before).To(BeNumerically(">", 0))

			pod = r.create("b", nil)
			synctest.Wait()
			Expect(used.read("version")).To(Equal(pod.ResourceVersion))
			Expect(used.count()).To(Equal(before + 1))
			Expect(seen[len(seen)-1]).To(Equal(pod.ResourceVersion), "set before handlers are told")
			other := must(r.client.CoreV1().ConfigMaps("default").Create(bubble.Context(),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, metav1.CreateOptions{}))
			Expect(r.server.SendBookmarks(bubble.Context(), other.ResourceVersion)).To(Succeed())
			synctest.Wait()
			Expect(used.read("version")).To(Equal(other.ResourceVersion))
			Expect(used.count()).To(Equal(before + 2))

			r.create("slow", nil)
			<-entered
			r.create("waits", nil)
			pod = r.create("waits-too", nil)
			synctest.Wait()
			Expect(used.read("queued")).To(Equal("2"))
			close(release)
			synctest.Wait()
			Expect(used.read("queued")).To(Equal("0"))
			Expect(used.read("version")).To(Equal(pod.ResourceVersion))
			Expect(used.count()).To(Equal(before + 4))
			Expect(inf.GetStore().Add(newPod("default", "mine", "1234567890123456789"))).To(Succeed())
			Expect(used.read("version")).To(Equal("567890123456789"))
			Expect(used.count()).To(Equal(before + 4))
		}
		bubble.It("are those of its provider", func() {
			mine := &meters{}
			series(mine, mine)
			Expect(ofProcess.take()).To(BeEmpty())
		})
		bubble.It("are the process's without one", func() { series(nil, ofProcess) })

		bubble.It("are none without a name, under one that is taken, and under one that was released", func() {
			r, m := newRig(newInformer), &meters{}
			name := newName("name")
			taken := name.WithResource(podsResource)
			options := cache.SharedIndexInformerOptions{InformerMetricsProvider: m}
			run(r.pods(options))
			options.Identifier = name.WithResource(podsResource)
			run(r.pods(options))
			Expect(m.take()).To(BeEmpty())
			options.Identifier = taken
			inf := r.pods(options)
			Expect(m.take()).To(HaveLen(1))
			name.Release()
			run(inf)
			run(r.pods(options))
			Expect(m.take()).To(BeEmpty())
		})
	})
})

// provider is nil without any meters.
func provider(m *meters) cache.InformerMetricsProvider {
	if m == nil {
		return nil
	}
	return m
}

var _ = Describe("The metrics of a generated factory", func() {
	bubble.It("have the identity of each type, as far as client-go can spell it", func() {
		all := func(registered bool) (known, unknown map[schema.GroupVersionResource]bool) {
			r := newRig(ours)
			factory := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithInformerName(newName("name")))
			if registered {
				Expect(clientgo.RegisterAll(factory, clientgo.Scope{})).To(Succeed())
			}
			everyInformer(factory)
			factory.Shutdown()
			known, unknown = map[schema.GroupVersionResource]bool{}, map[schema.GroupVersionResource]bool{}
			for _, gvr := range ofProcess.of {
				if _, err := factory.ForResource(gvr); err == nil {
					known[gvr] = true
				} else {
					unknown[gvr] = true
				}
			}
			ofProcess.take()
			return known, unknown
		}
		theirs, misspelled := all(false)
		ours, none := all(true)
		Expect(none).To(BeEmpty())
		Expect(misspelled).To(HaveKey(storagev1.SchemeGroupVersion.WithResource("storageclasss")))
		Expect(len(ours)).To(And(BeNumerically(">", 70), Equal(len(theirs)+len(misspelled))))
		for gvr := range theirs {
			Expect(ours).To(HaveKey(gvr))
		}
	})

	bubble.It("are none with a fake client", func() {
		factory := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(), 0, informers.WithInformerName(newName("name")))
		Expect(clientgo.Register(factory, clientgo.Scope{}, &corev1.Pod{})).To(Succeed())
		Expect(ofProcess.take()).To(BeEmpty())
	})
})
