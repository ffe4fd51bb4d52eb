package informer

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// loose shows a thing without its type.
func loose(obj *thing) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName(obj.Name)
	u.SetLabels(obj.Labels)
	return u
}

func TestAHandlerOfAnotherRepresentationIsToldTheSame(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		var told []string
		handler := HandlerFuncs[*unstructured.Unstructured]{
			AddFunc:    func(obj *unstructured.Unstructured, _ bool) { told = append(told, "add "+obj.GetName()) },
			UpdateFunc: func(old, obj *unstructured.Unstructured) { told = append(told, "update "+obj.GetName()) },
			DeleteFunc: func(d Deleted[*unstructured.Unstructured]) {
				told = append(told, "delete "+d.Last.GetName()+" under "+d.Key)
			},
		}
		shown := WithFilter(func(obj *unstructured.Unstructured) bool { return obj.GetLabels()["hidden"] == "" })
		reg, err := AddConverted(r.Informer, loose, handler, shown, WithPredicates(LabelsChanged))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(reg.Site(), "converted_test.go") {
			t.Errorf("registered at %s", reg.Site())
		}
		label := func(key string) func(*thing) {
			return func(obj *thing) { metav1.SetMetaDataLabel(&obj.ObjectMeta, key, "yes") }
		}
		r.from.set("a")
		r.from.edit("b", label("hidden"))
		r.start()
		r.waitForSync()
		r.from.set("a") // no label changes
		synctest.Wait()
		r.from.edit("a", label("more"))
		synctest.Wait()
		r.from.remove("a")
		synctest.Wait()
		if want := []string{"add a", "update a", "delete a under a"}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestAFilterOfAConvertedHandlerIsOneOfItsType(t *testing.T) {
	bubble(t, Options[*thing]{}, func(t *testing.T, r *rig) {
		_, err := AddConverted(r.Informer, loose, HandlerFuncs[*unstructured.Unstructured]{}, WithFilter(func(*thing) bool { return true }))
		if !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("a filter of the cached type: %v", err)
		}
		if _, err := AddConverted[*thing, *unstructured.Unstructured](r.Informer, loose, nil); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("no handler: %v", err)
		}
	})
}
