package dropin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/internal/bubble"
)

// nodeField is the field index.
const nodeField = "spec.nodeName"

// operator is a manager with controllers that note what they are asked and see.
type operator struct {
	ctrl.Manager
	server *fakeserver.Server
	net    *tap          // between the manager and the server
	beside []*tap        // those of other managers of the server
	live   client.Client // beside it, without a cache

	settled func() string // what is noted after each step; nil: nothing
	*journal
}

// journal is what controllers note, by step.
type journal struct {
	mu    sync.Mutex
	notes []string
	trace []string
}

func (j *journal) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// manage makes a manager of a server, with informers of m.
func manage(srv *fakeserver.Server, m maker, options ctrl.Options) *operator {
	GinkgoHelper()
	o := &operator{server: srv, net: &tap{}, live: must(client.New(srv.Config(), client.Options{})), journal: &journal{}}
	options.Metrics.BindAddress = "0"
	options.Controller.SkipNameValidation = ptr(true)
	options.Cache.NewInformer = m.make
	o.Manager = must(ctrl.NewManager(o.net.between(srv.Config()), options))
	return o
}

// cut drops all watches.
//
// bubble: used in them only
func (o *operator) cut() {
	grown(append(o.beside, o.net)...)
	o.server.DropWatches()
}

func deployments() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return u
}

// newOperator makes a manager with informers of m, and its controllers.
func newOperator(m maker) *operator {
	GinkgoHelper()
	srv, _ := newServer()
	strip := func(obj any) (any, error) {
		if secret, ok := obj.(*corev1.Secret); ok {
			secret.Data = nil
		}
		return obj, nil
	}
	o := manage(srv, m, ctrl.Options{Cache: cache.Options{
		DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{"watched": "yes"}), Transform: strip},
			&corev1.Pod{}:    {Namespaces: map[string]cache.Config{"a": {}, "c": {LabelSelector: labels.SelectorFromSet(labels.Set{"watched": "yes"})}}},
		},
	}})
	Expect(o.GetFieldIndexer().IndexField(bubble.Context(), &corev1.Pod{}, nodeField, func(obj client.Object) []string {
		return []string{obj.(*corev1.Pod).Spec.NodeName}
	})).To(Succeed())
	o.control("configs", builder.ControllerManagedBy(o).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}), o.seeConfig)
	o.control("pods", builder.ControllerManagedBy(o).For(&corev1.Pod{}), o.seePod)
	o.control("deployments", builder.ControllerManagedBy(o).For(deployments(), builder.WithPredicates(predicate.GenerationChangedPredicate{})), o.seeDeployment)
	o.control("services", builder.ControllerManagedBy(o).For(&corev1.Service{}, builder.OnlyMetadata), o.seeService)
	return o
}

// control adds a controller that notes what see tells of each request.
func (o *operator) control(name string, b *builder.Builder, see func(context.Context, client.ObjectKey) string) {
	GinkgoHelper()
	Expect(b.Named(name).Complete(reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		o.note("%s %s: %s", name, r.NamespacedName, see(ctx, r.NamespacedName))
		return reconcile.Result{}, nil
	}))).To(Succeed())
}

func (o *operator) seeConfig(ctx context.Context, key client.ObjectKey) string {
	var config corev1.ConfigMap
	err := o.GetClient().Get(ctx, key, &config)
	return fmt.Sprint(config.Data, client.IgnoreNotFound(err), err != nil)
}

func (o *operator) seePod(ctx context.Context, key client.ObjectKey) string {
	var pod corev1.Pod
	err := o.GetClient().Get(ctx, key, &pod)
	return fmt.Sprint(pod.Spec.NodeName, client.IgnoreNotFound(err), err != nil)
}

// seeAll tells what can be listed: the pods by index from several namespaces, and the
// secrets without what the transform takes away.
func (o *operator) seeAll() string {
	var pods corev1.PodList
	err := o.GetClient().List(bubble.Context(), &pods, client.MatchingFields{nodeField: "node-1"})
	names := []string{}
	for _, pod := range pods.Items {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(names)
	var secrets corev1.SecretList
	listErr := o.GetClient().List(bubble.Context(), &secrets, client.InNamespace("a"))
	for _, secret := range secrets.Items {
		names = append(names, fmt.Sprint(secret.Name, len(secret.Data)))
	}
	return fmt.Sprint(names, err, listErr)
}

func (o *operator) seeDeployment(ctx context.Context, key client.ObjectKey) string {
	u := deployments()
	err := o.GetCache().Get(ctx, key, u) // a manager's client has no cache of these
	replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	return fmt.Sprint(replicas, u.GetGeneration(), err != nil)
}

func (o *operator) seeService(ctx context.Context, key client.ObjectKey) string {
	var m metav1.PartialObjectMetadata
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	err := o.GetClient().Get(ctx, key, &m)
	return fmt.Sprint(m.Labels, m.Kind, err != nil)
}

// then does something and notes which reconciles follow.
//
// bubble: used in them only
func (o *operator) then(what string, do func() error) {
	GinkgoHelper()
	Expect(do()).To(Succeed(), what)
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	if o.settled != nil {
		o.note("then %s", o.settled())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.notes) // there is no order between controllers
	o.notes = slices.CompactFunc(o.notes, func(one, next string) bool {
		return one == next && !strings.Contains(one, " is told: ") // two events in a row are one reconcile, or two
	})
	o.trace = append(o.trace, "# "+what)
	o.trace = append(o.trace, o.notes...)
	o.notes = nil
}

func named(namespace, name string, label ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if len(label) > 0 {
		m.Labels = map[string]string{"watched": label[0]}
	}
	return m
}

func podOn(namespace, name, node string, label ...string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: named(namespace, name, label...), Spec: corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
}

func deploymentOf(name string, replicas int32) *appsv1.Deployment {
	app := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: named("b", name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: podOn("", "", "").Spec},
	}}
}

func (o *operator) createAll(objects ...client.Object) error {
	for _, obj := range objects {
		if err := o.live.Create(bubble.Context(), obj); err != nil {
			return fmt.Errorf("%s: %w", obj.GetName(), err)
		}
	}
	return nil
}

// playUnseen is the part of play in which the operator is cut off.
func (o *operator) playUnseen(pod *corev1.Pod, secret *corev1.Secret, deployment *appsv1.Deployment, service *corev1.Service) {
	GinkgoHelper()
	ctx := bubble.Context()
	o.then("much happens unseen", o.unseen(nil, func() {
		again := podOn("a", "second", "node-2")
		Expect(o.live.Delete(ctx, again, client.GracePeriodSeconds(0))).To(Succeed())
		pod.Labels = map[string]string{"watched": "yes"}
		Expect(o.live.Update(ctx, pod)).To(Succeed())
		secret.Labels = map[string]string{"watched": "yes"}
		Expect(o.live.Update(ctx, secret)).To(Succeed())
		deployment.Labels = nil
		Expect(o.live.Update(ctx, deployment)).To(Succeed())
		Expect(o.live.Delete(ctx, service)).To(Succeed())
		service.ResourceVersion, service.Spec.ClusterIP, service.Spec.ClusterIPs = "", "", nil
		Expect(o.createAll(service, again, deploymentOf("another", 2), podOn("a", "third", "node-1"))).To(Succeed())
	}))
	o.then("the secret is not selected any more, unseen", o.unseen(nil, func() {
		secret.Labels = nil
		Expect(o.live.Update(ctx, secret)).To(Succeed())
	}))
}

// play runs the operator through all that should matter to it, and some that should
// not.
func (o *operator) play() {
	GinkgoHelper()
	ctx, stop := context.WithCancel(bubble.Context())
	create := func(objects ...client.Object) func() error { return func() error { return o.createAll(objects...) } }
	config := &corev1.ConfigMap{ObjectMeta: named("a", "config"), Data: map[string]string{"k": "1"}}
	Expect(create(config, &corev1.ConfigMap{ObjectMeta: named("c", "elsewhere")}, podOn("a", "first", "node-1"))()).To(Succeed())
	owned := &corev1.Secret{ObjectMeta: named("a", "owned", "yes"), Data: map[string][]byte{"k": []byte("v")}}
	Expect(ctrl.SetControllerReference(config, owned, o.GetScheme())).To(Succeed())
	other := owned.DeepCopy()
	other.Name, other.Labels = "other", nil
	deployment := deploymentOf("web", 1)
	service := &corev1.Service{ObjectMeta: named("b", "svc", "1"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	seen := podOn("c", "seen", "node-1", "yes")

	ended := make(chan error, 1)
	o.settled = o.seeAll
	o.then("start", func() error { go func() { ended <- o.Start(ctx) }(); return nil })
	o.then("an owned secret", create(owned))
	o.then("one that is not selected", create(other))
	o.then("a pod", create(podOn("a", "second", "node-1")))
	o.then("a pod that is selected", create(seen))
	o.then("pods that are not", create(podOn("c", "unseen", "node-1"), podOn("b", "unseen", "node-1")))
	o.then("a deployment", create(deployment))
	o.then("its labels", func() error { deployment.Labels = map[string]string{"x": "y"}; return o.live.Update(ctx, deployment) })
	o.then("its replicas", func() error { deployment.Spec.Replicas = ptr(int32(3)); return o.live.Update(ctx, deployment) })
	o.then("a service", create(service))
	o.then("its label", func() error { service.Labels["watched"] = "2"; return o.live.Update(ctx, service) })
	o.then("the config", func() error { config.Data["k"] = "2"; return o.live.Update(ctx, config) })
	o.then("the secret is not selected any more", func() error { owned.Labels = nil; return o.live.Update(ctx, owned) })
	o.then("nothing but cut watches", func() error { o.cut(); return nil })
	o.then("a pod is not selected any more", func() error { seen.Labels = nil; return o.live.Update(ctx, seen) })
	o.playUnseen(seen, other, deployment, service)
	for _, obj := range []client.Object{service, deployment, config} {
		o.then("delete "+obj.GetName()+" unseen", func() error {
			o.cut()
			return o.live.Delete(ctx, obj)
		})
	}
	stop()
	Expect(<-ended).NotTo(HaveOccurred())
}

var _ = Describe("A manager of controller-runtime", func() {
	bubble.It("reconciles the same with client-go's informers and with ours", func() {
		traces, made := map[string][]string{}, map[string]*atomic.Int64{}
		for _, m := range makers {
			n := &atomic.Int64{}
			o := newOperator(maker{make: func(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
				n.Add(1)
				return m.make(lw, obj, resync, indexers)
			}})
			o.play()
			traces[m.name], made[m.name] = o.trace, n
		}
		Expect(made["listwatch"].Load()).To(BeNumerically(">=", int64(9))) // four kinds and secrets, in two namespaces each
		Expect(made["listwatch"].Load()).To(Equal(made["client-go"].Load()))
		GinkgoWriter.Println(strings.Join(traces["listwatch"], "\n"))
		Expect(len(traces["listwatch"])).To(BeNumerically(">", 20))
		Expect(only(traces["listwatch"], traces["client-go"])).To(BeEmpty())
		Expect(only(traces["client-go"], traces["listwatch"])).To(Equal([]string{
			"pods a/first: node-1<nil> false", // in both gaps, the rest in the second
			"pods a/second: node-2<nil> false", "pods a/third: node-1<nil> false", "pods c/seen: node-1<nil> false",
			"services b/svc: map[watched:2]Servicefalse",
		}))
	})
})
