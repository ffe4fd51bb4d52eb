package informertest

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Version identifies one state of one object.
type Version struct {
	// UID of the object.
	UID types.UID
	// ResourceVersion of the state; of a deletion that was seen, that of the
	// deletion.
	ResourceVersion uint64
	// Content stands for what else is in the object, as a ContentFunc gives it.
	// It is compared where both sides have one.
	Content string
}

// ContentFunc tells states of an object apart beyond their resourceVersion, for
// instance by a field that the test writes, so that a cached object is caught
// that claims one version and holds another. It is called concurrently.
type ContentFunc func(obj metav1.Object) string

// VersionOf identifies the state of obj; content may be nil. A resourceVersion
// that is no decimal number becomes 0, which no history contains: servers since
// Kubernetes 1.35 promise numbers (KEP-5504), and so do all before in practice.
func VersionOf(obj metav1.Object, content ContentFunc) Version {
	v := Version{UID: obj.GetUID(), ResourceVersion: number(obj.GetResourceVersion())}
	if content != nil {
		v.Content = content(obj)
	}
	return v
}

// number reads a resourceVersion; 0 if it is none.
func number(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// KeyOf is "namespace/name", or "name" for an object without a namespace: the
// key under which an informer caches obj.
func KeyOf(obj metav1.Object) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}

// same says whether v and w are one state as far as both tell.
func (v Version) same(w Version) bool { return v.is(w) && !v.differs(w) }

// is compares what identifies a state.
func (v Version) is(w Version) bool {
	return v.UID == w.UID && v.ResourceVersion == w.ResourceVersion
}

// differs compares the contents, if both are known.
func (v Version) differs(w Version) bool {
	return v.Content != "" && w.Content != "" && v.Content != w.Content
}

// String is "uid@resourceVersion" and the content, if there is one.
func (v Version) String() string {
	text := fmt.Sprintf("%s@%d", v.UID, v.ResourceVersion)
	if v.Content != "" {
		text += fmt.Sprintf(" %q", v.Content)
	}
	return text
}
