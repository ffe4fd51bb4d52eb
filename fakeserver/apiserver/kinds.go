package apiserver

import (
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// kinds are all that have Go types: those of the clientset, and the definitions
// of custom resources.
var kinds = newKinds()

func newKinds() *runtime.Scheme {
	all := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(all); err != nil {
			panic(fmt.Sprintf("apiserver: kinds: %v", err)) // as generated code does: the types do not fit together
		}
	}
	return all
}

// What definitions of custom resources are called.
var (
	definitionResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	definitionKind     = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
)

// definitionsResource is the resource of the definitions of custom resources,
// which the clientset does not have.
func definitionsResource() *resource {
	return &resource{
		gvr:       definitionResource,
		gvk:       definitionKind,
		goType:    reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](),
		verbs:     []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		hasStatus: true,
		stable:    true,
	}
}

func isDefinition(gr schema.GroupResource) bool { return gr == definitionResource.GroupResource() }
