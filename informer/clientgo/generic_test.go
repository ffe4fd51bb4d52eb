package clientgo_test

import (
	"context"
	"fmt"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

// genericFactory is a factory of the dynamic or the metadata client.
type genericFactory interface {
	Start(stopCh <-chan struct{})
	ForResource(gvr schema.GroupVersionResource) informers.GenericInformer
	WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool
	Shutdown()
}

// tweak is an option of lists and watches.
type tweak = func(*metav1.ListOptions)

// generics are the ways to informers by resource.
type generics struct {
	name    string
	ours    bool
	example runtime.Object

	whole    func(*rig) genericFactory
	filtered func(r *rig, namespace string, t tweak) genericFactory
	single   func(r *rig, namespace string, indexers cache.Indexers, t tweak) informers.GenericInformer
}

func dynamicClient(r *rig) dynamic.Interface { return must(dynamic.NewForConfig(r.server.Config())) }
func metadataClient(r *rig) metadata.Interface {
	return drainedMetadata{must(metadata.NewForConfig(r.server.Config()))}
}

var allGenerics = []generics{
	{
		"the dynamic client, by client-go", false, &unstructured.Unstructured{},
		func(r *rig) genericFactory {
			return dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient(r), 0)
		},
		func(r *rig, namespace string, t tweak) genericFactory {
			return dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient(r), 0, namespace, t)
		},
		func(r *rig, namespace string, indexers cache.Indexers, t tweak) informers.GenericInformer {
			return dynamicinformer.NewFilteredDynamicInformer(dynamicClient(r), podsResource, namespace, 0, indexers, t)
		},
	},
	{
		"the dynamic client, by listwatch", true, &unstructured.Unstructured{},
		func(r *rig) genericFactory { return clientgo.NewDynamicSharedInformerFactory(dynamicClient(r), 0) },
		func(r *rig, namespace string, t tweak) genericFactory {
			return clientgo.NewFilteredDynamicSharedInformerFactory(dynamicClient(r), 0, namespace, t)
		},
		func(r *rig, namespace string, indexers cache.Indexers, t tweak) informers.GenericInformer {
			return clientgo.NewFilteredDynamicInformer(dynamicClient(r), podsResource, namespace, 0, indexers, t)
		},
	},
	{
		"the metadata client, by client-go", false, &metav1.PartialObjectMetadata{},
		func(r *rig) genericFactory { return metadatainformer.NewSharedInformerFactory(metadataClient(r), 0) },
		func(r *rig, namespace string, t tweak) genericFactory {
			return metadatainformer.NewFilteredSharedInformerFactory(metadataClient(r), 0, namespace, t)
		},
		func(r *rig, namespace string, indexers cache.Indexers, t tweak) informers.GenericInformer {
			return metadatainformer.NewFilteredMetadataInformer(metadataClient(r), podsResource, namespace, 0, indexers, t)
		},
	},
	{
		"the metadata client, by listwatch", true, &metav1.PartialObjectMetadata{},
		func(r *rig) genericFactory { return clientgo.NewMetadataSharedInformerFactory(metadataClient(r), 0) },
		func(r *rig, namespace string, t tweak) genericFactory {
			return clientgo.NewFilteredMetadataSharedInformerFactory(metadataClient(r), 0, namespace, t)
		},
		func(r *rig, namespace string, indexers cache.Indexers, t tweak) informers.GenericInformer {
			return clientgo.NewFilteredMetadataInformer(metadataClient(r), podsResource, namespace, 0, indexers, t)
		},
	},
}

var _ = Describe("Informers by resource", func() {
	for _, g := range allGenerics {
		Describe("of "+g.name, func() {
			bubble.It("are made once, and give objects of one type", func() {
				r := newRig(ours)
				r.create("a", map[string]string{"app": "x"})
				f := g.whole(r)
				pods, h := f.ForResource(podsResource), &recorder{}
				Expect(f.ForResource(podsResource)).To(BeIdenticalTo(pods))
				_, isOurs := clientgo.Of(pods.Informer())
				Expect(isOurs).To(Equal(g.ours))
				must(pods.Informer().AddEventHandler(h))
				stop := make(chan struct{})
				f.Start(stop)
				f.Start(stop)
				Expect(f.WaitForCacheSync(stop)).To(Equal(map[schema.GroupVersionResource]bool{podsResource: true}))
				Expect(must(pods.Lister().List(labels.Everything()))).To(HaveLen(1))
				Expect(must(pods.Lister().ByNamespace("default").List(labels.SelectorFromSet(labels.Set{"app": "x"})))).To(HaveLen(1))
				Expect(must(pods.Lister().ByNamespace("default").Get("a"))).To(BeAssignableToTypeOf(g.example))
				r.label("a", "y")
				Expect(h.take()).To(Equal([]string{"initial a=x", "update a=x to a=y"}))
				close(stop)
				f.Shutdown()
				f.ForResource(corev1.SchemeGroupVersion.WithResource("secrets"))
				f.Start(make(chan struct{})) // nothing
				synctest.Wait()
			})

			bubble.It("are restricted as told, in a factory and alone", func() {
				r := newRig(ours)
				r.create("a", map[string]string{"app": "x"})
				r.create("b", nil)
				x := func(o *metav1.ListOptions) { o.LabelSelector = "app=x" }
				for namespace, want := range map[string][]string{"default": {"default/a"}, "": {"default/a"}, "other": {}} {
					inf := g.filtered(r, namespace, x).ForResource(podsResource).Informer()
					alone := g.single(r, namespace, cache.Indexers{"name": func(obj any) ([]string, error) {
						return []string{obj.(metav1.Object).GetName()}, nil
					}}, x)
					run(inf)
					run(alone.Informer())
					Expect(inf.GetStore().ListKeys()).To(ConsistOf(want))
					Expect(must(alone.Informer().GetIndexer().IndexKeys("name", "a"))).To(ConsistOf(want))
					Expect(must(alone.Lister().List(labels.Everything()))).To(HaveLen(len(want)))
				}
			})

			bubble.It("tell which have synced when waiting for them ends", func() {
				r := newRig(ours)
				f := g.whole(r)
				unknown := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
				f.ForResource(podsResource)
				f.ForResource(unknown)
				stop := make(chan struct{})
				f.Start(stop)
				f.ForResource(corev1.SchemeGroupVersion.WithResource("secrets")) // not started
				time.AfterFunc(time.Minute, func() { close(stop) })
				Expect(f.WaitForCacheSync(stop)).To(Equal(map[schema.GroupVersionResource]bool{podsResource: true, unknown: false}))
				f.Shutdown()
			})
		})
	}

	for name, newFactory := range map[string]func(metadata.Interface, cache.TransformFunc) metadatainformer.SharedInformerFactory{
		"client-go": func(c metadata.Interface, t cache.TransformFunc) metadatainformer.SharedInformerFactory {
			return metadatainformer.NewSharedInformerFactoryWithOptions(c, 0, metadatainformer.WithTransform(t))
		},
		"listwatch": func(c metadata.Interface, t cache.TransformFunc) metadatainformer.SharedInformerFactory {
			return clientgo.NewMetadataSharedInformerFactoryWithOptions(c, 0, clientgo.WithTransform(t))
		},
	} {
		bubble.It("of metadata are transformed, by "+name, func() {
			r := newRig(ours)
			r.create("a", map[string]string{"app": "x"})
			f := newFactory(metadataClient(r), func(obj any) (any, error) {
				obj.(metav1.Object).SetLabels(nil)
				return obj, nil
			})
			inf, h := f.ForResource(podsResource).Informer(), &recorder{}
			must(inf.AddEventHandler(h))
			run(inf)
			Expect(h.take()).To(Equal([]string{"initial a"}))
		})
	}

	bubble.It("start and stop by the thousand", func() {
		const n = 1000
		before := bubble.Goroutines()
		kinds := map[schema.GroupVersionResource]string{}
		for k := range n {
			kinds[schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: fmt.Sprint("kind", k)}] = "ThingList"
		}
		f := clientgo.NewDynamicSharedInformerFactory(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds), time.Hour)
		for gvr := range kinds {
			must(f.ForResource(gvr).Informer().AddEventHandler(&recorder{}))
		}
		stop := make(chan struct{})
		f.Start(stop)
		Expect(f.WaitForCacheSync(stop)).To(And(HaveLen(n), Not(ContainElement(false))))
		close(stop)
		f.Shutdown()
		synctest.Wait()
		Expect(bubble.Goroutines()).To(Equal(before))
	})
})

// drainedMetadata reads watches to their end after their Stop, for client-go, which
// leaves the goroutine of a watch of metadata behind.
type drainedMetadata struct{ metadata.Interface }

func (d drainedMetadata) Resource(gvr schema.GroupVersionResource) metadata.Getter {
	return drainedGetter{d.Interface.Resource(gvr)}
}

type drainedGetter struct{ metadata.Getter }

func (d drainedGetter) Namespace(namespace string) metadata.ResourceInterface {
	return drainedResource{d.Getter.Namespace(namespace)}
}

type drainedResource struct{ metadata.ResourceInterface }

func (d drainedResource) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := d.ResourceInterface.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return drained{w}, nil
}

type drained struct{ watch.Interface }

func (d drained) Stop() {
	d.Interface.Stop()
	go func() {
		for range d.ResultChan() {
		}
	}()
}
