package configset

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"
)

// Client reads and writes ConfigSets. Its methods may be called concurrently.
type Client struct {
	rest       rest.Interface
	parameters runtime.ParameterCodec
}

// NewClient makes a Client for the server of config. Nothing is requested yet.
func NewClient(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("configset: %w", err)
	}
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &GroupVersion, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, "" // custom resources have no protobuf
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("configset: %w", err)
	}
	return &Client{rest: client, parameters: runtime.NewParameterCodec(scheme)}, nil
}

// ConfigSets are those of one namespace, or of all if that is "".
func (c *Client) ConfigSets(namespace string) *gentype.ClientWithList[*ConfigSet, *ConfigSetList] {
	return gentype.NewClientWithList(Plural, c.rest, c.parameters, namespace,
		func() *ConfigSet { return &ConfigSet{} }, func() *ConfigSetList { return &ConfigSetList{} })
}

// Install creates the Definition if the server has none of that name, and waits
// until the server serves ConfigSets. A definition that is there already is left as it
// is, also if it is another version. It reports whether it created one.
func Install(ctx context.Context, config *rest.Config) (created bool, err error) {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return false, fmt.Errorf("configset: %w", err)
	}
	definitions := client.CustomResourceDefinitions()
	definition, err := definitions.Get(ctx, DefinitionName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		definition, err = definitions.Create(ctx, Definition(), metav1.CreateOptions{})
		created = err == nil
	}
	if apierrors.IsAlreadyExists(err) { // somebody else was faster
		definition, err = definitions.Get(ctx, DefinitionName, metav1.GetOptions{})
	}
	for err == nil && !established(definition) {
		definition, err = nextState(ctx, definitions, definition)
	}
	if err != nil {
		return created, fmt.Errorf("configset: definition %s: %w", DefinitionName, err)
	}
	return created, nil
}

// nextState waits until the definition is established, or for the end of one watch.
func nextState(ctx context.Context, definitions apiextensions.CustomResourceDefinitionInterface, now *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	changes, err := definitions.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, DefinitionName).String(),
		ResourceVersion: now.ResourceVersion,
	})
	if err != nil {
		return nil, err
	}
	_, err = watchtools.UntilWithoutRetry(ctx, changes, func(event watch.Event) (bool, error) {
		definition, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition)
		return ok && (established(definition) || event.Type == watch.Deleted), nil
	})
	if err != nil && !errors.Is(err, watchtools.ErrWatchClosed) {
		return nil, err
	}
	return definitions.Get(ctx, DefinitionName, metav1.GetOptions{})
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range definition.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
