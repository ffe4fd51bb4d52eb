package fakeserver_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing/synctest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// stockRig is a server, a writer that does not depend on types, and what
// client-go's own informers said.
type stockRig struct {
	ctx    context.Context
	server *fakeserver.Server
	writer dynamic.Interface

	mu        sync.Mutex
	requests  []string // "METHOD path?query" of the informers
	events    []string // "add pods/a", …
	informers map[string]cache.SharedIndexInformer
}

// newStockRig starts a server that is closed with the bubble that it is called in.
func newStockRig() *stockRig {
	server, err := fakeserver.New(fakeserver.Options{})
	Expect(err).NotTo(HaveOccurred())
	bubble.Cleanup(func() { Expect(server.Close()).To(Succeed()) })
	return &stockRig{
		ctx:       bubble.Context(),
		server:    server,
		writer:    dynamic.NewForConfigOrDie(server.Config()),
		informers: map[string]cache.SharedIndexInformer{},
	}
}

// config is the server's, with every request noted.
func (r *stockRig) config() *rest.Config {
	config := r.server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			r.mu.Lock()
			r.requests = append(r.requests, request.Method+" "+request.URL.RequestURI())
			r.mu.Unlock()
			return next.RoundTrip(request)
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// follow notes what the informer tells its handlers.
func (r *stockRig) follow(resource string, informer cache.SharedIndexInformer) {
	r.informers[resource] = informer
	note := func(verb string, object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			panic(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, verb+" "+resource+"/"+accessor.GetName())
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { note("add", object) },
		UpdateFunc: func(_, object any) { note("update", object) },
		DeleteFunc: func(object any) { note("delete", object) },
	})
	Expect(err).NotTo(HaveOccurred())
}

// seen are the events since the last call, sorted, because informers of
// different resources run side by side. It waits until nothing moves any more.
func (r *stockRig) seen() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	slices.Sort(events)
	return events
}

// expectLifecycle drives one object of every resource through its life and
// checks what the informers, already started, made of it.
func (r *stockRig) expectLifecycle() {
	GinkgoHelper()
	for resource, informer := range r.informers {
		Expect(cache.WaitForCacheSync(r.ctx.Done(), informer.HasSynced)).To(BeTrue(), resource)
	}
	Expect(r.seen()).To(BeEmpty(), "a fresh server has none of these objects")

	r.each(func(resource target, client dynamic.ResourceInterface) {
		_, err := client.Create(r.ctx, resource.object("a"), metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
	})
	Expect(r.seen()).To(Equal(r.all("add", "a")))

	r.each(func(_ target, client dynamic.ResourceInterface) {
		current, err := client.Get(r.ctx, "a", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		current.SetLabels(map[string]string{"changed": "yes"})
		_, err = client.Update(r.ctx, current, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
	})
	Expect(r.seen()).To(Equal(r.all("update", "a")))
	for resource, informer := range r.informers {
		Expect(informer.GetStore().List()).To(HaveLen(1), resource)
		accessor, err := meta.Accessor(informer.GetStore().List()[0])
		Expect(err).NotTo(HaveOccurred())
		Expect(accessor.GetLabels()).To(HaveKeyWithValue("changed", "yes"), resource)
	}

	r.each(func(_ target, client dynamic.ResourceInterface) {
		Expect(client.Delete(r.ctx, "a", metav1.DeleteOptions{})).To(Succeed())
	})
	// A pod is first seen to have no time left.
	Expect(r.seen()).To(Equal(append(r.all("delete", "a"), "update pods/a")))
	for resource, informer := range r.informers {
		Expect(informer.GetStore().ListKeys()).To(BeEmpty(), resource)
	}
	r.expectOnlyWatchLists()
}

// expectOnlyWatchLists checks that no informer needed a plain list.
func (r *stockRig) expectOnlyWatchLists() {
	GinkgoHelper()
	r.mu.Lock()
	defer r.mu.Unlock()
	streams := 0
	for _, request := range r.requests {
		Expect(request).To(ContainSubstring("watch=true"), "an informer fell back to a plain list")
		if strings.Contains(request, "sendInitialEvents=true") {
			streams++
		}
	}
	Expect(streams).To(Equal(len(watched)), "one watch-list for each informer")
}

// each calls f for every watched resource, with a client of it.
func (r *stockRig) each(f func(target, dynamic.ResourceInterface)) {
	for _, resource := range watched {
		client := r.writer.Resource(resource.GroupVersionResource)
		if resource.namespace == "" {
			f(resource, client)
		} else {
			f(resource, client.Namespace(resource.namespace))
		}
	}
}

func (r *stockRig) all(verb, name string) []string {
	events := make([]string, 0, len(watched))
	for _, resource := range watched {
		events = append(events, verb+" "+resource.Resource+"/"+name)
	}
	slices.Sort(events)
	return events
}

// object is a minimal object of the resource.
func (t target) object(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.GroupVersion().WithKind(t.kind))
	object.SetName(name)
	return object
}
