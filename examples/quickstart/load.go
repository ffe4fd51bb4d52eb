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

// refused tells which object was refused, and what became of the others.
func refused(objects []manifest.Object, failed int, err error) error {
	object := objects[failed]
	others := "it is the only object, so nothing was created"
	if after := len(objects) - failed - 1; failed+after > 0 {
		created := "nothing was created before it"
		if failed > 0 {
			created = fmt.Sprintf("%s created before it, the last one %s", were(failed), objects[failed-1])
		}
		left := "it was the last one"
		if after > 0 {
			left = were(after) + " to come after it and not tried"
		}
		others = created + "; " + left
	}
	return fmt.Errorf("%s: the server refuses %s: %w; %s", object.Place, object, err, others)
}

func were(number int) string {
	if number == 1 {
		return "1 object was"
	}
	return count(number, "object") + " were"
}
