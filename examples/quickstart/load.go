package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/listwatch/listwatch/examples/quickstart/internal/manifest"
)

// resourceOf is the client for the objects of a mapping in a namespace, if they
// have one.
func resourceOf(client dynamic.Interface, mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	resource := client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return resource.Namespace(namespace)
	}
	return resource
}

// load creates the objects one after the other. If the server refuses one, the
// error tells what was created before.
func load(ctx context.Context, client dynamic.Interface, objects []manifest.Object, out *printer) error {
	out.say("loading %s, sound so far as can be told without the server", count(len(objects), "object"))
	step := max(1, (len(objects)+3)/4)
	for i, object := range objects {
		if err := create(ctx, client, object.Mapping, object.Content); err != nil {
			return refused(objects, i, err)
		}
		if done := i + 1; done%step == 0 || done == len(objects) {
			out.say("loaded %d/%d, up to %s", done, len(objects), printable(object.String()))
		}
	}
	return nil
}

func create(ctx context.Context, client dynamic.Interface, mapping *meta.RESTMapping, object *unstructured.Unstructured) error {
	_, err := resourceOf(client, mapping, object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
	return err
}

func refused(objects []manifest.Object, failed int, err error) error {
	before := "nothing had been created before it"
	if failed > 0 {
		before = fmt.Sprintf("%s had been created before it, up to %s", count(failed, "object"), objects[failed-1])
	}
	object := objects[failed]
	return fmt.Errorf("%s: the server refuses %s: %w; %s, and %d of %d were not sent after it",
		object.Place, object, err, before, len(objects)-failed-1, len(objects))
}
