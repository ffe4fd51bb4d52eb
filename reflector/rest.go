package reflector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// RESTOption narrows what FromREST asks for.
type RESTOption func(*restQuery)

// restQuery is what every request of a REST source has in common.
type restQuery struct {
	resource, namespace          string
	labelSelector, fieldSelector string
}

// WithLabelSelector asks only for objects whose labels match.
func WithLabelSelector(selector labels.Selector) RESTOption {
	return func(q *restQuery) { q.labelSelector = selector.String() }
}

// WithFieldSelector asks only for objects whose fields match.
func WithFieldSelector(selector fields.Selector) RESTOption {
	return func(q *restQuery) { q.fieldSelector = selector.String() }
}

// FromREST reads a resource ("pods") of client's group and version, in one
// namespace or, with "", in all. The client's serializer must decode to T.
// Retries of the client are turned off: they would hide the server's answers
// from the Reflector, and it does them better. An object that is not a T is
// reported as *DecodeError.
func FromREST[T Object](client rest.Interface, resource, namespace string, options ...RESTOption) Source[T] {
	query := restQuery{resource: resource, namespace: namespace}
	for _, option := range options {
		option(&query)
	}
	return &restSource[T]{client: client, query: query}
}

type restSource[T Object] struct {
	client rest.Interface
	query  restQuery
}

// List implements Source.
func (s *restSource[T]) List(ctx context.Context, options metav1.ListOptions) (Page[T], error) {
	list, err := s.request(options).Do(ctx).Get()
	if err != nil {
		return Page[T]{}, err
	}
	return toPage[T](list)
}

// Watch implements Source.
func (s *restSource[T]) Watch(ctx context.Context, options metav1.ListOptions) (Stream[T], error) {
	options.Watch = true
	watcher, err := s.request(options).Watch(ctx)
	return newWatchStream[T](watcher, err)
}

// request is a GET of the collection with options.
func (s *restSource[T]) request(options metav1.ListOptions) *rest.Request {
	options.LabelSelector, options.FieldSelector = s.query.labelSelector, s.query.fieldSelector
	return s.client.Get().
		NamespaceIfScoped(s.query.namespace, s.query.namespace != "").
		Resource(s.query.resource).
		VersionedParams(&options, metav1.ParameterCodec).
		MaxRetries(0)
}
