package cacher

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/listwatch/listwatch/fakeserver/storage"
)

func TestFieldsAreLookedUpOnceAndWhenASelectorAsksForThem(t *testing.T) {
	for _, quick := range []bool{false, true} {
		calls := 0
		o := &Options{
			Prefix: "/pods/", TriggerField: "x",
			Decode: func(storage.KeyValue) (runtime.Object, error) {
				return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"x": "1"}}}, nil
			},
			Fields: func(runtime.Object) fields.Set {
				calls++
				return fields.Set{"x": "1", "y": "2", "metadata.name": "another"}
			},
		}
		if quick {
			o.Trigger = func(runtime.Object) string { return "1" }
		}
		item, err := o.newItem(storage.KeyValue{Key: "/pods/n/a", ModRevision: 2})
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{
			"x=1": true, "x=2": false, "metadata.name=a": true, "metadata.name=another": false,
			"metadata.namespace=n,x=1": true, "metadata.namespace!=n": false,
		} {
			if got := (&Predicate{Fields: fields.ParseSelectorOrDie(text)}).matches(item); got != want {
				t.Errorf("%s: %v", text, got)
			}
		}
		if got := calls == 0; got != quick {
			t.Errorf("with a function for the trigger field %v: %d calls", quick, calls)
		}
		for text, want := range map[string]bool{"y=2": true, "y=2,x=1": true, "y!=2": false, "z=": true} {
			if got := (&Predicate{Fields: fields.ParseSelectorOrDie(text)}).matches(item); got != want {
				t.Errorf("%s: %v", text, got)
			}
		}
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	}
}
