package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// selection is which objects an informer asks for.
type selection struct {
	namespace string // "": all
	x         string // value of the label x; "": any
	name      string // by field selector; "": any
}

func randomSelection(random *rand.Rand) selection {
	s := selection{namespace: []string{"", "", "a"}[random.IntN(3)]}
	switch random.IntN(4) {
	case 0:
		s.x = "1"
	case 1:
		s.name = "o1"
	}
	return s
}

func (s selection) match(obj metav1.Object) bool {
	return (s.namespace == "" || obj.GetNamespace() == s.namespace) &&
		(s.x == "" || obj.GetLabels()["x"] == s.x) &&
		(s.name == "" || obj.GetName() == s.name)
}

func (s selection) labels() labels.Selector {
	if s.x == "" {
		return labels.Everything()
	}
	return labels.SelectorFromSet(labels.Set{"x": s.x})
}

func (s selection) fields() fields.Selector {
	if s.name == "" {
		return fields.Everything()
	}
	return fields.OneTermEqualSelector("metadata.name", s.name)
}

// lister is what the clients of client-go have in common.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// listerWatcher narrows a client.
func listerWatcher[L runtime.Object](client lister[L], s selection) cache.ListerWatcher {
	narrow := func(options metav1.ListOptions) metav1.ListOptions {
		options.LabelSelector, options.FieldSelector = s.labels().String(), s.fields().String()
		return options
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, narrow(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, narrow(options))
		},
	}
}

// newMember makes an informer of a random kind over a random selection.
func (w *walk) newMember() participant {
	s, wire := randomSelection(w.random), newWeather(w.random.Uint64())
	random := rand.New(rand.NewPCG(w.random.Uint64(), 2))
	kind := []string{"JSON", "protobuf", "client decoding", "metadata", "client, typed", "client, metadata", "client, unstructured"}[w.random.IntN(7)]
	config := w.config(wire.over)
	place := membership{t: w.t, weather: wire, random: random, match: s.match}
	place.name = fmt.Sprintf("informer %d (%s, %+v)", len(w.members)+1, kind, s)
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	client := typedcorev1.NewForConfigOrDie(config)
	options := []reflector.RESTOption{reflector.WithLabelSelector(s.labels()), reflector.WithFieldSelector(s.fields())}
	if random.IntN(2) == 0 {
		options = append(options, reflector.WithSharing(random.IntN(1<<16)), reflector.WithoutManagedFields())
	}
	switch kind {
	case "metadata":
		return join(place, reflector.FromREST[*metav1.PartialObjectMetadata](client.RESTClient(), "configmaps", s.namespace, options...))
	case "client, typed":
		return join(place, reflector.FromListerWatcher[*corev1.ConfigMap](listerWatcher[*corev1.ConfigMapList](client.ConfigMaps(s.namespace), s)))
	case "client, metadata":
		objects := metadata.NewForConfigOrDie(config).Resource(resource).Namespace(s.namespace)
		return join(place, reflector.FromListerWatcher[*metav1.PartialObjectMetadata](listerWatcher(objects, s)))
	case "client, unstructured":
		objects := dynamic.NewForConfigOrDie(config).Resource(resource).Namespace(s.namespace)
		return join(place, reflector.FromListerWatcher[*unstructured.Unstructured](listerWatcher[*unstructured.UnstructuredList](objects, s)))
	case "JSON":
		options = append(options, reflector.WithJSON())
	case "client decoding":
		options = append(options, reflector.WithClientDecoding())
	}
	return join(place, reflector.FromREST[*corev1.ConfigMap](client.RESTClient(), "configmaps", s.namespace, options...))
}

func join[T informer.Object](place membership, source reflector.Source[T]) participant {
	return newMember(place, source, randomOptions[T](place.random))
}
