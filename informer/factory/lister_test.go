package factory_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/informer/factory"
)

// Listers have the shapes of client-go's.
var (
	_ corelisters.NodeLister                = factory.Lister[*corev1.Node]{}
	_ corelisters.NamespaceLister           = factory.Lister[*corev1.Namespace]{}
	_ corelisters.PersistentVolumeLister    = factory.Lister[*corev1.PersistentVolume]{}
	_ rbaclisters.ClusterRoleLister         = factory.Lister[*rbacv1.ClusterRole]{}
	_ corelisters.PodNamespaceLister        = factory.NamespaceLister[*corev1.Pod]{}
	_ corelisters.ServiceNamespaceLister    = factory.NamespaceLister[*corev1.Service]{}
	_ appslisters.DeploymentNamespaceLister = factory.NamespaceLister[*appsv1.Deployment]{}
	_ corelisters.PodLister                 = podLister{}
	_ cache.GenericLister                   = factory.Lister[*corev1.Pod]{}.Generic()
)

type podLister struct{ factory.Lister[*corev1.Pod] }

func (l podLister) Pods(namespace string) corelisters.PodNamespaceLister {
	return l.Namespace(namespace)
}

var pods = schema.GroupResource{Resource: "pods"}

// twoListers have the same random objects in client-go's store and in ours.
func twoListers(t *testing.T, random *rand.Rand) (theirs corelisters.PodLister, generic cache.GenericLister, ours podLister) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	one, stop := filled(t, func(add func(*corev1.Pod)) {
		for range random.IntN(40) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: randomNamespace(random), Name: fmt.Sprint("pod-", random.IntN(20)), Labels: map[string]string{}}}
			for _, name := range []string{"app", "tier", "odd"} {
				if random.IntN(3) > 0 {
					pod.Labels[name] = fmt.Sprint("v", random.IntN(3))
				}
			}
			if _, exists, _ := store.Get(pod); !exists {
				_ = store.Add(pod)
				add(pod)
			}
		}
	})
	t.Cleanup(stop)
	return corelisters.NewPodLister(store), cache.NewGenericLister(store, pods), podLister{factory.ListerOf(one, pods)}
}

func randomNamespace(random *rand.Rand) string {
	return []string{"a", "b", "ab"}[random.IntN(3)]
}

func randomSelector(random *rand.Rand) labels.Selector {
	text := []string{
		"", "app", "!app", "app=v0", "app!=v1", "app in (v0,v2)", "tier notin (v1)", "app=v1,tier", "odd=v2,!tier", "nowhere", "app=v0,app=v1",
	}[random.IntN(11)]
	if random.IntN(12) == 0 {
		return labels.Nothing()
	}
	selector, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return selector
}

// answer is what a lister says, in an order of its own.
func answer[T runtime.Object](list []T, err error) string {
	var all []string
	for _, obj := range list {
		all = append(all, fmt.Sprintf("%p", any(obj)))
	}
	slices.Sort(all)
	return fmt.Sprint(strings.Join(all, " "), list == nil, err)
}

func one[T runtime.Object](obj T, err error) string { return fmt.Sprintf("%p %v", any(obj), err) }

func TestListersAnswerAsThoseOfClientGoDo(t *testing.T) {
	for seed := range uint64(15) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			theirs, generic, ours := twoListers(t, random)
			same := func(what, theirs, ours string) {
				t.Helper()
				// The generated listers call the resource by its singular.
				if strings.ReplaceAll(theirs, "pod \"", "pods \"") != ours {
					t.Errorf("%s: client-go says %s, ours %s", what, theirs, ours)
				}
			}
			for range 30 {
				selector, namespace := randomSelector(random), append([]string{"", "nowhere"}, "a", "b", "ab")[random.IntN(5)]
				name := fmt.Sprint("pod-", random.IntN(25))
				what := fmt.Sprintf("%q in %q, %s", selector, namespace, name)
				same(what, answer(theirs.List(selector)), answer(ours.List(selector)))
				same(what, answer(theirs.Pods(namespace).List(selector)), answer(ours.Pods(namespace).List(selector)))
				same(what, one(theirs.Pods(namespace).Get(name)), one(ours.Pods(namespace).Get(name)))
				g := ours.Generic()
				same(what, answer(generic.List(selector)), answer(g.List(selector)))
				same(what, one(generic.Get(namespace+"/"+name)), one(g.Get(namespace+"/"+name)))
				same(what, answer(generic.ByNamespace(namespace).List(selector)), answer(g.ByNamespace(namespace).List(selector)))
				same(what, one(generic.ByNamespace(namespace).Get(name)), one(g.ByNamespace(namespace).Get(name)))
			}
		})
	}
}

func TestListersListInKeyOrder(t *testing.T) {
	one, stop := filled(t, func(add func(*corev1.Pod)) {
		for _, name := range []string{"c", "a", "b"} {
			add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}})
		}
	})
	defer stop()
	list, err := factory.ListerOf(one, pods).List(nil)
	var names []string
	for _, pod := range list {
		names = append(names, pod.Name)
	}
	if want := []string{"a", "b", "c"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v, want %v", names, err, want)
	}
}

// filled is an informer of what fill adds, in sync, the very same objects.
func filled(t *testing.T, fill func(add func(*corev1.Pod))) (one *informer.Informer[*corev1.Pod], stop func()) {
	source := &fixed[*corev1.Pod]{}
	fill(func(pod *corev1.Pod) { source.items = append(source.items, pod) })
	one, err := informer.New[*corev1.Pod](source, informer.Options[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := one.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := one.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return one, func() {
		if err := lease.Close(); err != nil {
			t.Error(err)
		}
	}
}
