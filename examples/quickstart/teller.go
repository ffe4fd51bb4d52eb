package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/listwatch/listwatch/informer"
)

// teller is the handler of one kind: it prints each change as one line.
type teller struct {
	kind string
	out  *printer
}

// changeName names a change, to tell whether it was reported.
func changeName(sign, kind, key string) string { return sign + " " + kind + " " + key }

// OnAdd implements informer.Handler. The initial objects are counted elsewhere.
func (t teller) OnAdd(object *unstructured.Unstructured, initial bool) {
	if !initial {
		t.tell("+", keyOf(object), "is new", object.GetResourceVersion())
	}
}

// OnUpdate implements informer.Handler.
func (t teller) OnUpdate(old, object *unstructured.Unstructured) {
	t.tell("~", keyOf(object), whatChanged(old, object), object.GetResourceVersion())
}

// OnDelete implements informer.Handler.
func (t teller) OnDelete(deleted informer.Deleted[*unstructured.Unstructured]) {
	if deleted.Exact {
		t.tell("-", deleted.Key, "is gone", deleted.Last.GetResourceVersion())
		return
	}
	// Nobody saw it go, so that its last known version is older than its end.
	t.tell("-", deleted.Key, "is gone, found by relisting", deleted.Last.GetResourceVersion()+" or later")
}

func (t teller) tell(sign, key, what, resourceVersion string) {
	text := fmt.Sprintf("%s %s %s  %s  (rv %s)", sign, t.kind, printable(key), what, resourceVersion)
	t.out.report(changeName(sign, t.kind, key), text)
}

func keyOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}
