package factory

import (
	"runtime"
	"sync"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/listwatch/listwatch/informer"
)

// metadataOf shows the metadata of an object, whose maps, slices and strings it
// shares.
func metadataOf[S informer.Object](obj S) *metav1.PartialObjectMetadata {
	if has, ok := any(obj).(metav1.ObjectMetaAccessor); ok {
		if meta, ok := has.GetObjectMeta().(*metav1.ObjectMeta); ok {
			return &metav1.PartialObjectMetadata{ObjectMeta: *meta}
		}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ // a type with metadata of its own make
		Name: obj.GetName(), GenerateName: obj.GetGenerateName(), Namespace: obj.GetNamespace(),
		UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Generation: obj.GetGeneration(),
		CreationTimestamp: obj.GetCreationTimestamp(), DeletionTimestamp: obj.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		OwnerReferences: obj.GetOwnerReferences(), Finalizers: obj.GetFinalizers(), ManagedFields: obj.GetManagedFields(),
	}}
}

// conversions makes unstructured objects, and finds again those that somebody
// still holds.
type conversions struct {
	kind schema.GroupVersionKind

	mu   sync.Mutex            // guards made
	made map[string]conversion // by key
}

// conversion is a version of an object that was converted.
type conversion struct {
	uid             types.UID
	resourceVersion string
	result          weak.Pointer[unstructured.Unstructured]
}

// of converts an object.
func (c *conversions) of(obj informer.Object) *unstructured.Unstructured {
	key := obj.GetNamespace() + "/" + obj.GetName()
	asked := conversion{uid: obj.GetUID(), resourceVersion: obj.GetResourceVersion()}
	c.mu.Lock()
	has := c.made[key]
	c.mu.Unlock()
	if has.uid == asked.uid && has.resourceVersion == asked.resourceVersion && asked.resourceVersion != "" {
		if result := has.result.Value(); result != nil {
			return result
		}
	}
	result := c.convert(obj)
	asked.result = weak.Make(result)
	runtime.AddCleanup(result, c.forget, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[string]conversion{}
	}
	c.made[key] = asked
	return result
}

// forget is called after the last user of a conversion has gone.
func (c *conversions) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[key].result.Value() == nil {
		delete(c.made, key)
	}
}

func (c *conversions) convert(obj informer.Object) *unstructured.Unstructured {
	content, err := kruntime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		// Only a type with a JSON method that fails gets here. The object exists,
		// and so it is shown.
		klog.Background().Error(err, "Only the metadata of an object can be shown", "kind", c.kind, "object", klog.KObj(obj))
		if content, err = kruntime.DefaultUnstructuredConverter.ToUnstructured(metadataOf(obj)); err != nil {
			content = map[string]any{}
		}
	}
	result := &unstructured.Unstructured{Object: content}
	result.SetGroupVersionKind(c.kind)
	return result
}
