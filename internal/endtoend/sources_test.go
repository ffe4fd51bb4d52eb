package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

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
	"k8s.io/client-go/rest"
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

// kinds of informers.
var kinds = []string{"JSON", "protobuf", "client decoding", "metadata", "client, typed", "client, metadata", "client, unstructured", "mapped"}

// newMember makes an informer of a random kind over a random selection, or over
// several that are joined.
func (w *walk) newMember(joined bool) participant {
	kind, wire := kinds[w.random.IntN(len(kinds))], newWeather(w.random.Uint64())
	place := membership{t: w.t, weather: wire, random: rand.New(rand.NewPCG(w.random.Uint64(), 2))}
	selections := []selection{randomSelection(place.random)}
	place.match = selections[0].match
	if joined {
		selections = randomParts(place.random)
		for _, s := range selections {
			place.parts = append(place.parts, s.match)
		}
		w.counts["joined"]++
	}
	if place.mapped = kind == "mapped" || place.random.IntN(4) == 0; place.mapped {
		w.counts["mapped"]++
	}
	place.leased = place.random.IntN(3) == 0
	place.name = fmt.Sprintf("informer %d (%s, %+v, mapped %v, leased %v)", len(w.members)+1, kind, selections, place.mapped, place.leased)
	config := w.config(wire.over)
	var more []reflector.RESTOption
	if place.random.IntN(2) == 0 {
		more = append(more, reflector.WithSharing(place.random.IntN(1<<16)), reflector.WithoutManagedFields())
	}
	switch kind {
	case "metadata":
		return join(place, selections, restSource[*metav1.PartialObjectMetadata](config, more...))
	case "mapped":
		return toMetadata(place, restSource[*corev1.ConfigMap](config, more...)(selections[0]), selections)
	case "client, typed":
		return join(place, selections, func(s selection) reflector.Source[*corev1.ConfigMap] {
			return reflector.FromListerWatcher[*corev1.ConfigMap](listerWatcher(typedcorev1.NewForConfigOrDie(config).ConfigMaps(s.namespace), s))
		})
	case "client, metadata":
		return join(place, selections, func(s selection) reflector.Source[*metav1.PartialObjectMetadata] {
			objects := metadata.NewForConfigOrDie(config).Resource(configMaps).Namespace(s.namespace)
			return reflector.FromListerWatcher[*metav1.PartialObjectMetadata](listerWatcher(objects, s))
		})
	case "client, unstructured":
		return join(place, selections, func(s selection) reflector.Source[*unstructured.Unstructured] {
			objects := dynamic.NewForConfigOrDie(config).Resource(configMaps).Namespace(s.namespace)
			return reflector.FromListerWatcher[*unstructured.Unstructured](listerWatcher(objects, s))
		})
	case "JSON":
		more = append(more, reflector.WithJSON())
	case "client decoding":
		more = append(more, reflector.WithClientDecoding())
	}
	return join(place, selections, restSource[*corev1.ConfigMap](config, more...))
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// restSource reads a selection with our own wire path.
func restSource[T informer.Object](config *rest.Config, more ...reflector.RESTOption) func(selection) reflector.Source[T] {
	client := typedcorev1.NewForConfigOrDie(config).RESTClient()
	return func(s selection) reflector.Source[T] {
		options := slices.Concat(more, []reflector.RESTOption{reflector.WithLabelSelector(s.labels()), reflector.WithFieldSelector(s.fields())})
		return reflector.FromREST[T](client, "configmaps", s.namespace, options...)
	}
}

// randomParts are two or three selections: namespaces, or values of a label, between
// which objects move, or some that overlap.
func randomParts(random *rand.Rand) []selection {
	return [][]selection{
		{{namespace: "a"}, {namespace: "b"}},
		{{x: "0"}, {x: "1"}},
		{{x: "1"}, {name: "o1"}, {namespace: "a"}},
	}[random.IntN(3)]
}

func join[T informer.Object](place membership, selections []selection, source func(selection) reflector.Source[T]) participant {
	options := randomOptions[T](place.random)
	if place.mapped {
		options.Transform = alter[T]
	}
	return newMember(place, func(options informer.Options[T]) (*informer.Informer[T], error) {
		return create(source, selections, options)
	}, options)
}

// create makes an informer of one selection, or one that is joined of several.
func create[T informer.Object](source func(selection) reflector.Source[T], selections []selection, options informer.Options[T]) (*informer.Informer[T], error) {
	if len(selections) == 1 {
		return informer.New(source(selections[0]), options)
	}
	var parts []informer.Part[T]
	for k, s := range selections {
		parts = append(parts, informer.Part[T]{Name: fmt.Sprint(k), Source: source(s)})
	}
	return informer.NewJoined(parts, options)
}

// toMetadata makes a member that caches less than it reads, of one selection.
func toMetadata(place membership, source reflector.Source[*corev1.ConfigMap], selections []selection) participant {
	place.parts, place.match = nil, selections[0].match
	type meta = metav1.PartialObjectMetadata
	return newMember(place, func(options informer.Options[*meta]) (*informer.Informer[*meta], error) {
		return informer.NewMapped(source, func(obj *corev1.ConfigMap) (*meta, error) {
			return alter(&meta{ObjectMeta: *obj.ObjectMeta.DeepCopy()})
		}, options)
	}, randomOptions[*meta](place.random))
}
