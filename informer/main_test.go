package informer

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/listwatch/listwatch/internal/mutationtest"
)

func TestMain(m *testing.M) {
	mutationtest.On()
	goleak.VerifyTestMain(m)
}

// thing is the object type of the tests.
type thing = metav1.PartialObjectMetadata

// newThing makes an object; key is "name" or "namespace/name".
func newThing(key, uid string, resourceVersion int64) *thing {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	return &thing{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: fmt.Sprint(resourceVersion),
	}}
}

// show writes "key/uid@resourceVersion".
func show(obj *thing) string {
	if obj == nil {
		return "nil"
	}
	return fmt.Sprintf("%s:%s@%s", keyOf(obj), obj.UID, obj.ResourceVersion)
}

// call is one call of a handler, as text.
func (n notice[T]) String() string {
	switch n.kind {
	case noticeAdd:
		return showAdd(any(n.obj).(*thing), n.initial)
	case noticeUpdate:
		return showUpdate(any(n.old).(*thing), any(n.obj).(*thing))
	default:
		return showDelete(Deleted[*thing]{Key: n.key, Last: any(n.obj).(*thing), Exact: n.exact})
	}
}

func showAdd(obj *thing, initial bool) string {
	if initial {
		return "initial " + show(obj)
	}
	return "add " + show(obj)
}

func showUpdate(old, obj *thing) string {
	return fmt.Sprintf("update %s -> %s", show(old), show(obj))
}

func showDelete(d Deleted[*thing]) string {
	text := "delete " + show(d.Last)
	if d.Key != keyOf(d.Last) {
		text += " under key " + d.Key
	}
	if d.Exact {
		text += " exact"
	}
	return text
}
