package factory

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/listwatch/listwatch/indexer"
	"github.com/listwatch/listwatch/informer"
	"github.com/listwatch/listwatch/reflector"
)

// Options configure a Factory. The zero value works.
type Options struct {
	// Scheme knows the types that informers are asked for by; nil is client-go's,
	// with all that Kubernetes serves itself.
	Scheme *kruntime.Scheme
	// Defaults apply to every informer, before its own options.
	Defaults []Option
	// Reflector configures how collections are listed and watched, but for those
	// that are asked for WithReflector. Its Name is not used.
	Reflector reflector.Options
}

// Factory makes informers, each once, and runs them. Use New. All methods, and
// the functions that take a Factory, may be called concurrently, and at any time.
type Factory struct {
	scheme    *kruntime.Scheme
	defaults  []Option
	reflector reflector.Options
	clients   Clients
	// definitions makes the informer that is used while one waits for its resource.
	definitions func() (*informer.Informer[*metav1.PartialObjectMetadata], error)

	mu       sync.Mutex // guards the rest; no informer is called with it held
	entries  []*entry   // in the order in which they were made
	sessions []*session
}

// New makes a Factory for the server of config. All requests share its connections
// and its rate limit. Nothing is requested yet. Errors: ErrInvalidOptions, or what
// client-go says about config.
func New(config *rest.Config, options Options) (*Factory, error) {
	clients, err := clientsOf(config)
	if err != nil {
		return nil, err
	}
	return NewWithClients(clients, options)
}

// NewWithClients is New with clients of the caller's. Error: ErrInvalidOptions.
func NewWithClients(clients Clients, options Options) (*Factory, error) {
	if clients == nil {
		return nil, fmt.Errorf("factory: %w: no clients", ErrInvalidOptions)
	}
	if options.Scheme == nil {
		options.Scheme = scheme.Scheme
	}
	f := &Factory{scheme: options.Scheme, defaults: options.Defaults, reflector: options.Reflector, clients: clients}
	f.definitions = f.newDefinitions()
	return f, nil
}

// For returns the informer of a type, such as
//
//	pods, err := factory.For[*corev1.Pod](f, factory.WithNamespaces("web"))
//
// Whoever asks for the same resource, namespaces, selectors and type gets the same
// informer. If the Factory runs, so does the informer when For returns. The resource
// is the plural of the kind by which the scheme knows the type; WithResource names
// another, and is needed for *unstructured.Unstructured and
// *metav1.PartialObjectMetadata (see Unstructured and Metadata).
//
// Errors: ErrInvalidOptions, ErrUnknownKind, ErrConflict.
func For[T informer.Object](f *Factory, options ...Option) (*informer.Informer[T], error) {
	r, err := ask[T](f, options)
	if err != nil {
		return nil, err
	}
	return obtain[T](f, r)
}

// ask puts options together. To be called by what users call.
func ask[T informer.Object](f *Factory, options []Option) (*request, error) {
	if f == nil {
		return nil, fmt.Errorf("factory: %v at %s: %w: no Factory", reflect.TypeFor[T](), callerSite(), ErrInvalidOptions)
	}
	r := &request{site: callerSite(), settings: settings{reflector: f.reflector}}
	for _, option := range slices.Concat(f.defaults, options) {
		if option != nil {
			option(r)
		}
	}
	r.settings.reflector.Name = ""
	narrowed := r.settings.rest
	r.key.labels, r.key.fields, r.key.shard = narrowed.LabelSelector, narrowed.FieldSelector, narrowed.ShardSelector
	r.key.as = reflect.TypeFor[T]()
	if r.transform != nil {
		if _, ok := r.transform.(func(T) (T, error)); !ok {
			return nil, fmt.Errorf("factory: %v at %s: %w: transform is a %T", r.key.as, r.site, ErrInvalidOptions, r.transform)
		}
	}
	if r.mapping != nil {
		if _, ok := r.mapping.(maker[T]); !ok || r.settings.mapping == (function{}) {
			return nil, fmt.Errorf("factory: %v at %s: %w: mapping is a %T", r.key.as, r.site, ErrInvalidOptions, r.mapping)
		}
	}
	for _, asked := range r.indexes { // before anything is made
		if _, ok := asked.function.(indexer.Func[T]); !ok || asked.name == "" || asked.identity == (function{}) {
			return nil, fmt.Errorf("factory: %v at %s: %w: index %q is a %T", r.key.as, r.site, ErrInvalidOptions, asked.name, asked.function)
		}
	}
	if r.key.resource == (schema.GroupVersionResource{}) {
		kind, err := makerOf[T](r).kind(f.scheme)
		if err != nil {
			return nil, fmt.Errorf("factory: %v at %s: %w", r.key.as, r.site, err)
		}
		r.key.resource = resourceOf(kind)
	}
	return r, nil
}

// obtain returns the informer that r asks for, a new one if there is none.
func obtain[T informer.Object](f *Factory, r *request) (*informer.Informer[T], error) {
	e, one, sessions, err := enter[T](f, r, nil)
	if err == nil && one == nil {
		var made *informer.Informer[T]
		if made, err = create[T](f, r); err == nil {
			e, one, sessions, err = enter(f, r, made)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := addIndexes(f, e, r, "", one.AddIndex); err != nil {
		return nil, err
	}
	for _, s := range sessions {
		s.hold(e, one)
	}
	return one, nil
}

// enter returns the informer of r's key; made, which may be nil, if there is none.
func enter[T informer.Object](f *Factory, r *request, made *informer.Informer[T]) (*entry, *informer.Informer[T], []*session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, has := f.find(r.key)
	if has == nil && made == nil {
		return nil, nil, nil, nil
	}
	if has == nil {
		e = newEntry(f, r, made)
		f.entries = append(f.entries, e)
		return e, made, slices.Clone(f.sessions), nil
	}
	if different := e.settings.differences(&r.settings); different != "" {
		return nil, nil, nil, fmt.Errorf("factory: %v, made at %s, asked for at %s: %w: %s", r.key, e.site, r.site, ErrConflict, different)
	}
	e.strong = has
	return e, has.(*informer.Informer[T]), slices.Clone(f.sessions), nil
}

// addIndexes adds the indexes of r that e's informer has not yet, each under its
// name after prefix.
func addIndexes[T informer.Object](f *Factory, e *entry, r *request, prefix string, add func(string, indexer.Func[T]) error) error {
	for _, asked := range r.indexes {
		index := asked.function.(indexer.Func[T]) // as ask has seen
		name := asked.name
		asked.name = prefix + name
		fresh, err := f.claim(e, asked, r)
		if err == nil && fresh {
			if err = add(name, index); err != nil {
				f.disclaim(e, asked.name)
			}
		}
		if err != nil {
			return fmt.Errorf("factory: %v at %s: %w", r.key, r.site, err)
		}
	}
	return nil
}

// callerSite is "file:line" of whoever called into this package.
func callerSite() string {
	var callers [16]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		ours := strings.HasPrefix(frame.Function, "github.com/listwatch/listwatch/informer/factory.") &&
			!strings.HasSuffix(frame.File, "_test.go")
		if !ours || !more {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line)
		}
	}
}
