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

	"github.com/google/go-cmp/cmp"
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
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/listwatch/listwatch/fakeserver"
	"github.com/listwatch/listwatch/informer/clientgo"
	"github.com/listwatch/listwatch/internal/bubble"
)

// nodeField is the field index.
const nodeField = "spec.nodeName"

// operator is a manager with controllers that note what they are asked and see.
type operator struct {
	ctrl.Manager
	server *fakeserver.Server
	live   client.Client // without a cache

	mu    sync.Mutex
	notes []string
	trace []string
}

func deployments() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return u
}

// newOperator makes a manager whose informers newInformer makes, and its controllers.
func newOperator(newInformer func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer) *operator {
	GinkgoHelper()
	srv, _ := newServer()
	strip := func(obj any) (any, error) {
		if secret, ok := obj.(*corev1.Secret); ok {
			secret.Data = nil
		}
		return obj, nil
	}
	m := must(ctrl.NewManager(srv.Config(), ctrl.Options{
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr(true)},
		Cache: cache.Options{
			NewInformer:       newInformer,
			DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}},
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Secret{}: {Label: labels.SelectorFromSet(labels.Set{"watched": "yes"}), Transform: strip},
				&corev1.Pod{}:    {Namespaces: map[string]cache.Config{"a": {}, "c": {LabelSelector: labels.SelectorFromSet(labels.Set{"watched": "yes"})}}},
			},
		},
	}))
	o := &operator{Manager: m, server: srv, live: must(client.New(srv.Config(), client.Options{}))}
	Expect(m.GetFieldIndexer().IndexField(bubble.Context(), &corev1.Pod{}, nodeField, func(obj client.Object) []string {
		return []string{obj.(*corev1.Pod).Spec.NodeName}
	})).To(Succeed())
	o.control("configs", builder.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}), o.seeConfig)
	o.control("pods", builder.ControllerManagedBy(m).For(&corev1.Pod{}), o.seePod)
	o.control("deployments", builder.ControllerManagedBy(m).For(deployments(), builder.WithPredicates(predicate.GenerationChangedPredicate{})), o.seeDeployment)
	o.control("services", builder.ControllerManagedBy(m).For(&corev1.Service{}, builder.OnlyMetadata), o.seeService)
	return o
}

// control adds a controller that notes what see tells of each request.
func (o *operator) control(name string, b *builder.Builder, see func(context.Context, client.ObjectKey) string) {
	GinkgoHelper()
	Expect(b.Named(name).Complete(reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		note := fmt.Sprintf("%s %s: %s", name, r.NamespacedName, see(ctx, r.NamespacedName))
		o.mu.Lock()
		defer o.mu.Unlock()
		o.notes = append(o.notes, note)
		return reconcile.Result{}, nil
	}))).To(Succeed())
}

func (o *operator) seeConfig(ctx context.Context, key client.ObjectKey) string {
	var config corev1.ConfigMap
	err := o.GetClient().Get(ctx, key, &config)
	var secrets corev1.SecretList
	listErr := o.GetClient().List(ctx, &secrets, client.InNamespace(key.Namespace))
	var names []string
	for _, secret := range secrets.Items {
		names = append(names, fmt.Sprint(secret.Name, len(secret.Data)))
	}
	return fmt.Sprint(config.Data, client.IgnoreNotFound(err), err != nil, names, listErr)
}

func (o *operator) seePod(ctx context.Context, key client.ObjectKey) string {
	var pods corev1.PodList
	err := o.GetClient().List(ctx, &pods, client.MatchingFields{nodeField: "node-1"})
	names := []string{}
	for _, pod := range pods.Items {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(names)
	return fmt.Sprint(names, err)
}

func (o *operator) seeDeployment(ctx context.Context, key client.ObjectKey) string {
	u := deployments()
	err := o.GetClient().Get(ctx, key, u)
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
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.notes)              // there is no order between controllers
	o.notes = slices.Compact(o.notes) // two events in a row are one reconcile, or two
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

// play runs the operator through all that should matter to it, and some that should
// not.
func (o *operator) play() {
	GinkgoHelper()
	ctx, stop := context.WithCancel(bubble.Context())
	create := func(objects ...client.Object) func() error {
		return func() error {
			for _, obj := range objects {
				if err := o.live.Create(ctx, obj); err != nil {
					return fmt.Errorf("%s: %w", obj.GetName(), err)
				}
			}
			return nil
		}
	}
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
	o.then("nothing but cut watches", func() error { o.server.DropWatches(); return nil })
	o.then("a pod is not selected any more", func() error { seen.Labels = nil; return o.live.Update(ctx, seen) })
	for _, obj := range []client.Object{service, deployment, config} {
		o.then("delete "+obj.GetName()+" unseen", func() error {
			o.server.DropWatches()
			return o.live.Delete(ctx, obj)
		})
	}
	stop()
	Expect(<-ended).NotTo(HaveOccurred())
}

var _ = Describe("A manager of controller-runtime", func() {
	bubble.It("reconciles the same with client-go's informers and with ours", func() {
		traces := map[string][]string{}
		for _, m := range makers {
			o := newOperator(m.make)
			o.play()
			traces[m.name] = o.trace
		}
		GinkgoWriter.Println(strings.Join(traces["listwatch"], "\n"))
		Expect(len(traces["listwatch"])).To(BeNumerically(">", 20))
		Expect(cmp.Diff(traces["client-go"], traces["listwatch"])).To(BeEmpty())
	})

	bubble.It("has our informers", func() {
		var made atomic.Int64
		o := newOperator(func(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			made.Add(1)
			return clientgo.NewSharedIndexInformer(lw, obj, resync, indexers)
		})
		o.play()
		Expect(made.Load()).To(BeNumerically(">=", int64(9))) // four kinds and secrets, in two namespaces each
	})
})
