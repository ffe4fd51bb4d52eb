package reflector

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/internal/worker"
)

// FromREST reads a resource ("pods") of client's group and version, in one
// namespace or, with "", in all.
//
// It has a reader of its own. Bodies are cut into objects as they arrive and
// decoded by up to GOMAXPROCS goroutines, in order; the next page of a LIST is
// asked for as soon as the current one names it. Objects come as protobuf where
// T is generated with it and the server has it, else as JSON, and are equal to
// those that client-go's decoder makes of the same bytes. For
// *metav1.PartialObjectMetadata the server is asked for metadata only. An object
// above 64 MiB ends a stream with a *DecodeError.
//
// The strings of an object share memory: who keeps one of them for longer than
// the object should clone it. Its byte slices must not be written to, as nothing
// in an object that others read.
//
// The client makes the requests, under its rate limit for LISTs, and reads error
// answers, which needs a serializer that knows the encoding; those of client-go's
// generated clients do. Its retries are turned off: they would hide the server's
// answers from the Reflector, which does them better.
//
// A Source of a nil client, which is what client-go's fake clients have for a
// RESTClient, is refused by New, and gives nothing but errors that wrap
// ErrInvalidOptions.
func FromREST[T Object](client rest.Interface, resource, namespace string, options ...RESTOption) Source[T] {
	if isNil(client) {
		return noSource[T]{"the rest.Interface"}
	}
	query := restQuery{resource: resource, namespace: namespace, RESTSettings: RESTSettingsOf(options...)}
	if query.ClientDecoding {
		return &clientSource[T]{restRequests{client: client, query: query}}
	}
	c := newCodec[T]()
	c.dropManagedFields = query.WithoutManagedFields
	if query.Sharing > 0 {
		c.share(query.Sharing)
	}
	proto := c.proto && !query.JSON
	return &restSource[T]{codec: c, restRequests: restRequests{
		client: client, query: query, acceptList: accept(proto, c.partial, "PartialObjectMetadataList"),
		acceptWatch: accept(proto, c.partial, "PartialObjectMetadata"),
	}}
}

// restQuery is what every request of a REST source has in common.
type restQuery struct {
	resource, namespace string
	RESTSettings
}

// restRequests makes the requests of a collection.
type restRequests struct {
	client rest.Interface
	query  restQuery
	// What to ask for; "" leaves it to the client.
	acceptList, acceptWatch string
}

// request is a GET of the collection with options.
func (s *restRequests) request(options metav1.ListOptions) *rest.Request {
	options.LabelSelector, options.FieldSelector = s.query.LabelSelector, s.query.FieldSelector
	options.ShardSelector = s.query.ShardSelector
	request := s.client.Get().
		NamespaceIfScoped(s.query.namespace, s.query.namespace != "").
		Resource(s.query.resource).
		VersionedParams(&options, metav1.ParameterCodec).
		MaxRetries(0)
	accept := s.acceptList
	if options.Watch {
		accept = s.acceptWatch
	}
	if accept != "" {
		request.SetHeader("Accept", accept)
	}
	return request
}

// stream asks, and returns the body of the answer.
func (s *restRequests) stream(ctx context.Context, options metav1.ListOptions) (io.ReadCloser, error) {
	request := s.request(options)
	if options.Watch {
		request.Throttle(nil) // as client-go: watches are few and long
	}
	body, err := request.Stream(ctx)
	if err != nil && (utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err)) {
		return nil, fmt.Errorf("%w: %w", ErrConnectionLost, err)
	}
	return body, err
}

// restSource is a Source with a reader of its own.
type restSource[T Object] struct {
	restRequests
	codec *codec[T]
}

// List implements Source.
func (s *restSource[T]) List(ctx context.Context, options metav1.ListOptions) (Page[T], error) {
	list, err := s.list(ctx, options)
	if err != nil {
		return Page[T]{}, err
	}
	defer list.Close()
	var page Page[T]
	for {
		part, err := list.Next(ctx)
		if err != nil {
			return Page[T]{}, err
		}
		for _, item := range part.Items {
			if item.Skipped != nil {
				page.Skipped = append(page.Skipped, item.Skipped)
			} else {
				page.Items = append(page.Items, item.Object)
			}
		}
		if part.EndOfPage {
			page.ResourceVersion, page.Continue, page.Remaining = part.ResourceVersion, part.Continue, part.Remaining
			return page, nil
		}
	}
}

// ListStream implements StreamingSource.
func (s *restSource[T]) ListStream(ctx context.Context, options metav1.ListOptions, known Known) (ListStream[T], error) {
	list, err := s.list(ctx, options)
	if err != nil {
		return nil, err
	}
	list.follow, list.known = true, known
	return list, nil
}

func (s *restSource[T]) list(ctx context.Context, options metav1.ListOptions) (*wireList[T], error) {
	group := worker.New(ctx)
	body, err := s.stream(group.Context(), options)
	if err != nil {
		group.Stop()
		return nil, err
	}
	return newWireList(s.codec, group, nextPage{options: options, body: body}, s.stream), nil
}

// Watch implements Source.
func (s *restSource[T]) Watch(ctx context.Context, options metav1.ListOptions) (Stream[T], error) {
	return s.WatchKnown(ctx, options, nil)
}

// WatchKnown implements StreamingSource.
func (s *restSource[T]) WatchKnown(ctx context.Context, options metav1.ListOptions, known Known) (Stream[T], error) {
	options.Watch = true
	group := worker.New(ctx)
	body, err := s.stream(group.Context(), options)
	if err != nil {
		group.Stop()
		return nil, err
	}
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	return newWireStream(s.codec, group, body, initial, known), nil
}

// accept is the header by which a server is asked for an encoding and, for
// metadata only, a kind.
func accept(proto, partial bool, kind string) string {
	as := ""
	if partial {
		as = ";as=" + kind + ";g=" + metav1.GroupName + ";v=v1"
	}
	accept := "application/json" + as
	if proto {
		accept = "application/vnd.kubernetes.protobuf" + as + "," + accept
	}
	if partial { // from a server that cannot cut objects down
		accept += ",application/json"
	}
	return accept
}

// decoded implements decodeCounter.
func (s *restSource[T]) decoded() (objects int64, took time.Duration) {
	return s.codec.objects.Load(), time.Duration(s.codec.nanoseconds.Load())
}

// clientSource is a Source whose client decodes.
type clientSource[T Object] struct{ restRequests }

// List implements Source.
func (s *clientSource[T]) List(ctx context.Context, options metav1.ListOptions) (Page[T], error) {
	list, err := s.request(options).Do(ctx).Get()
	if err != nil {
		return Page[T]{}, err
	}
	return toPage[T](list)
}

// Watch implements Source.
func (s *clientSource[T]) Watch(ctx context.Context, options metav1.ListOptions) (Stream[T], error) {
	options.Watch = true
	watcher, err := s.request(options).Watch(ctx)
	return newWatchStream[T](watcher, err)
}
