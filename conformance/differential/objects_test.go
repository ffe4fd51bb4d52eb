package differential

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// defaultNamespace is where objects are whose name says nothing else.
	defaultNamespace = "default"
	// indexLabel is the label that the index of both informers looks at.
	indexLabel = "on"
	// stampAnnotation counts how often an object was transformed.
	stampAnnotation = "stamped"
)

// object is one version of one object as scripts write it:
//
//	name[#uid][@resourceVersion]
//
// where name may be namespace/name, and uid counts the objects that had the
// name (1 if it is not said; 0 stands for none at all).
type object struct {
	namespace, name string
	uid             int
	version         string
	on              string // value of indexLabel
}

// parseObject reads the notation of scripts.
func parseObject(text string) (object, error) {
	o := object{namespace: defaultNamespace, uid: 1}
	rest, version, _ := strings.Cut(text, "@")
	name, uid, numbered := strings.Cut(rest, "#")
	if numbered {
		if _, err := fmt.Sscanf(uid, "%d", &o.uid); err != nil {
			return o, fmt.Errorf("object %q: uid %q is no number", text, uid)
		}
	}
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		o.namespace, name = namespace, rest
	}
	if name == "" {
		return o, fmt.Errorf("object %q has no name", text)
	}
	o.name, o.version = name, version
	return o, nil
}

// key is what scripts call the object: its name, with a namespace that is not
// the default one.
func (o object) key() string {
	if o.namespace == defaultNamespace {
		return o.name
	}
	return o.namespace + "/" + o.name
}

// metadata is what the server sends.
func (o object) metadata() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: o.namespace, Name: o.name, ResourceVersion: o.version}
	if o.uid > 0 {
		m.UID = types.UID(fmt.Sprintf("%s-%d", o.name, o.uid))
	}
	if o.on != "" {
		m.Labels = map[string]string{indexLabel: o.on}
	}
	return m
}

// describe writes an object that an informer gave back in the notation of
// scripts.
func describe(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	text := shortKey(m.GetNamespace() + "/" + m.GetName())
	switch _, uid, _ := strings.Cut(string(m.GetUID()), "-"); uid {
	case "":
		text += "#0"
	case "1":
	default:
		text += "#" + uid
	}
	if m.GetResourceVersion() != "" {
		text += "@" + m.GetResourceVersion()
	}
	if n := m.GetAnnotations()[stampAnnotation]; n != "" {
		text += " stamped " + n
	}
	return text
}

// shortKey is an informer's key in the notation of scripts.
func shortKey(key string) string { return strings.TrimPrefix(key, defaultNamespace+"/") }

// kind makes the objects of one type.
type kind interface {
	example() runtime.Object
	object(o object) runtime.Object
	list(items []object, version, token string) runtime.Object
}

// typed makes ConfigMaps.
type typed struct{}

func (typed) example() runtime.Object { return &corev1.ConfigMap{} }

func (typed) object(o object) runtime.Object { return &corev1.ConfigMap{ObjectMeta: o.metadata()} }

func (k typed) list(items []object, version, token string) runtime.Object {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: token}}
	for _, item := range items {
		list.Items = append(list.Items, *k.object(item).(*corev1.ConfigMap))
	}
	return list
}

// untyped makes ConfigMaps as the dynamic client decodes them.
type untyped struct{}

func (untyped) example() runtime.Object { return &unstructured.Unstructured{} }

func (untyped) object(o object) runtime.Object {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed{}.object(o))
	if err != nil {
		panic(err) // a ConfigMap can be converted
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	return u
}

func (k untyped) list(items []object, version, token string) runtime.Object {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}}
	list.SetResourceVersion(version)
	list.SetContinue(token)
	for _, item := range items {
		list.Items = append(list.Items, *k.object(item).(*unstructured.Unstructured))
	}
	return list
}

// metadata makes the metadata of ConfigMaps.
type metadata struct{}

func (metadata) example() runtime.Object { return &metav1.PartialObjectMetadata{} }

func (metadata) object(o object) runtime.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: o.metadata()}
}

func (k metadata) list(items []object, version, token string) runtime.Object {
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: token}}
	for _, item := range items {
		list.Items = append(list.Items, *k.object(item).(*metav1.PartialObjectMetadata))
	}
	return list
}

// table is what a server sends that was asked for a Table: the dynamic client
// decodes it as one object without items.
func table(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "Table",
		"metadata": map[string]any{"resourceVersion": version},
		"rows":     []any{},
	}}
}
