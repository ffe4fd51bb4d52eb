package dropin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/listwatch/listwatch/internal/bubble"
)

// marked is a transform that leaves its mark, once, and takes data away.
func marked(mark string) func(any) (any, error) {
	return func(in any) (any, error) {
		obj := in.(client.Object) // never a tombstone
		obj.SetAnnotations(map[string]string{"mark": mark})
		switch obj := obj.(type) {
		case *corev1.ConfigMap:
			obj.Data = nil
		case *corev1.Secret:
			obj.Data = nil
		}
		return obj, nil
	}
}

func untouched(in any) (any, error) { return in, nil }

// transforming plays a manager with transforms of all scopes.
func transforming(m maker) []string {
	GinkgoHelper()
	srv, _ := newServer()
	o := manage(srv, m, ctrl.Options{Cache: cache.Options{
		DefaultTransform:  marked("by default"),
		DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {Transform: marked("of b")}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Transform: marked("of secrets")},
			&corev1.Pod{}:    {Transform: untouched, Namespaces: map[string]cache.Config{"a": {}, "b": {Transform: marked("of pods in b")}}},
		},
	}})
	o.settled = func() string {
		var lines []string
		for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.PodList{}} {
			Expect(o.GetCache().List(bubble.Context(), list)).To(Succeed())
			for _, content := range contents(list) {
				lines = append(lines, essence([]byte(content)))
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	none := func(context.Context, client.ObjectKey) string { return "" }
	for name, obj := range map[string]client.Object{"configs": &corev1.ConfigMap{}, "secrets": &corev1.Secret{}, "pods": &corev1.Pod{}} {
		o.control(name, builder.ControllerManagedBy(o).Watches(obj, o.telling(name)), none)
	}
	secret := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: named(namespace, name, "1"), Data: map[string][]byte{"k": []byte("v")}}
	}
	of := func(namespace, name string) *corev1.ConfigMap {
		config := configOf(name, "1")
		config.Namespace = namespace
		return config
	}
	Expect(o.createAll(of("a", "first"), of("b", "first-b"), secret("a", "first"), secret("b", "first-b"), podOn("a", "first", "node", "1"), podOn("b", "first-b", "node", "1"))).To(Succeed())
	o.then("start", o.start)
	o.then("more", func() error {
		return o.createAll(of("a", "more"), of("b", "more-b"), secret("b", "more-b"), podOn("b", "more-b", "node", "1"))
	})
	o.then("a change", func() error { o.change("more", "2"); return nil })
	o.then("a gap", o.unseen(nil, func() { o.change("more", "3"); o.remove("first"); o.create("4", "late") }))
	return o.trace
}

// failing plays a manager whose transform fails for some values.
func failing(m maker) []string {
	GinkgoHelper()
	o := newShaped(m, ctrl.Options{Cache: cache.Options{DefaultTransform: func(in any) (any, error) {
		if valueOf(in.(client.Object)) == "bad" {
			return nil, errors.New("a bad value")
		}
		return in, nil
	}}})
	o.create("1", "same", "changed", "other")
	o.then("start", o.start)
	o.then("a bad value", func() error { o.change("changed", "bad"); o.create("bad", "new"); o.change("other", "2"); return nil })
	o.then("a gap", o.unseen(nil, func() { o.change("other", "3") }))
	o.then("something seen", func() error { o.create("1", "late"); return nil })
	o.then("better values", func() error { o.change("changed", "3"); o.change("new", "3"); return nil })
	o.cached()
	return o.trace
}

var _ = Describe("A manager with transforms", func() {
	bubble.It("reconciles and caches the same, whatever the transform's scope", func() {
		theirs, ours := transforming(makers[0]), transforming(makers[1])
		GinkgoWriter.Println(strings.Join(ours, "\n"))
		Expect(only(ours, theirs)).To(BeEmpty())
		Expect(only(theirs, ours)).To(HaveEach(MatchRegexp("unchanged true|^(configs|secrets|pods) [ab]/[a-z-]+: $")))
	})

	bubble.It("calls them twice for what a watch-list lists with client-go's informers, and once with ours", func() {
		for _, m := range makers {
			var mu sync.Mutex
			calls := map[string]int{}
			srv, _ := newServer()
			o := manage(srv, m, ctrl.Options{Cache: cache.Options{DefaultTransform: func(in any) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				calls[in.(client.Object).GetName()]++
				return in, nil
			}}})
			o.create("1", "listed")
			run(o)
			must(o.GetCache().GetInformer(bubble.Context(), &corev1.ConfigMap{}))
			o.then("start", func() error { o.create("1", "seen"); return nil })
			mu.Lock()
			Expect(calls).To(Equal(map[string]int{"listed": map[string]int{"client-go": 2, "listwatch": 1}[m.name], "seen": 1}), m.name)
			mu.Unlock()
		}
	})

	bubble.It("keeps the last good version with our informers where they fail, and loses nothing else", func() {
		theirs, ours := failing(makers[0]), failing(makers[1])
		GinkgoWriter.Println(strings.Join(ours, "\n"))
		var lost, kept []string
		for _, s := range shapes {
			lost = append(lost, s.name+" is told: delete 1, unknown true of changed", s.name+" is told: create 3, initial false of changed",
				s.name+" a/changed: <nil> false", s.name+" of changes a/changed: <nil> false",
				s.name+" is told: update 1 to 1, unchanged true, other UID false of same", s.name+" a/same: 1<nil> true")
			kept = append(kept, s.name+" is told: update 1 to 3, unchanged false, other UID false of changed")
		}
		Expect(only(theirs, ours)).To(ConsistOf(lost))
		Expect(only(ours, theirs)).To(ConsistOf(kept))
	})
})
