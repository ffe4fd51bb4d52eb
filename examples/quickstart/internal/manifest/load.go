package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	validate "k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is one object of the manifests, checked.
type Object struct {
	Place   Place
	Content *unstructured.Unstructured // its namespace is set if its kind has one
	Mapping *meta.RESTMapping
}

// String is its kind, namespace and name.
func (o Object) String() string {
	return o.Mapping.GroupVersionKind.Kind + " " + keyOf(o.Content)
}

func keyOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// Load checks every object of the files and returns them in the order in which
// a server can take them. With an error there are no objects; it is an *Error.
func Load(files []File, kinds *Kinds) ([]Object, error) {
	var objects []Object
	for _, file := range files {
		documents, err := split(file)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			content, err := parse(document)
			if err != nil {
				return nil, err
			}
			if objects, err = add(objects, content, kinds); err != nil {
				return nil, err
			}
		}
	}
	if err := findDuplicate(objects); err != nil {
		return nil, err
	}
	slices.SortStableFunc(objects, func(a, b Object) int { return rank(a) - rank(b) })
	return objects, nil
}

func rank(object Object) int {
	switch {
	case object.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return 0
	case object.Mapping.Scope.Name() == meta.RESTScopeNameRoot:
		return 1
	}
	return 2
}

// add appends the object, or those that it lists.
func add(objects []Object, content parsed, kinds *Kinds) ([]Object, error) {
	gvk, err := typeOf(content)
	if err != nil {
		return nil, err
	}
	if _, has := content.fields["items"]; gvk.Kind == "List" || has && strings.HasSuffix(gvk.Kind, "List") {
		return addItems(objects, content, kinds) // List, PodList, ConfigMapList
	}
	mapping, err := kinds.Lookup(gvk)
	if err != nil {
		if fault, ok := errors.AsType[*Error](err); ok {
			fault.Place = at(content, "kind")
		}
		return nil, err
	}
	if err := checkTypes(content, gvk); err != nil {
		return nil, err
	}
	object := Object{Place: content.place, Content: &unstructured.Unstructured{Object: content.fields}, Mapping: mapping}
	if err := checkName(content, object); err != nil {
		return nil, err
	}
	return append(objects, object), nil
}

func addItems(objects []Object, list parsed, kinds *Kinds) ([]Object, error) {
	items, isList := list.fields["items"].([]any)
	if !isList || len(items) == 0 {
		return nil, &Error{
			Place: at(list, "items"), Kind: ErrEmpty, Detail: "the list has no items",
			Fix: "put objects under items: or remove the list",
		}
	}
	for i, value := range items {
		item := list
		item.place.Item, item.place.Line = i+1, list.line("items", i)
		fields, isMap := value.(map[string]any)
		if !isMap {
			return nil, &Error{
				Place: item.place, Kind: ErrWrongType,
				Detail: "an item is an object, this is " + describe(value), Fix: "write an object or remove the item",
			}
		}
		item.fields = fields
		if item.root != nil {
			_, item.root = child(item.root, "items")
		}
		if item.root != nil {
			_, item.root = child(item.root, i)
		}
		var err error
		if objects, err = add(objects, item, kinds); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// typeOf reads apiVersion and kind. Errors: ErrMissing, ErrWrongType.
func typeOf(content parsed) (schema.GroupVersionKind, error) {
	var values [2]string
	for i, name := range []string{"apiVersion", "kind"} {
		value := content.fields[name]
		text, isText := value.(string)
		switch {
		case value == nil || text == "" && isText:
			return schema.GroupVersionKind{}, &Error{
				Place: at(content), Kind: ErrMissing, Detail: name,
				Fix: `say what the object is, for example "apiVersion: v1" and "kind: ConfigMap"`,
			}
		case !isText:
			return schema.GroupVersionKind{}, &Error{
				Place: at(content, name), Kind: ErrWrongType,
				Detail: name + " is " + describe(value), Fix: "write a text",
			}
		}
		values[i] = text
	}
	groupVersion, err := schema.ParseGroupVersion(values[0])
	if err != nil {
		return schema.GroupVersionKind{}, &Error{
			Place: at(content, "apiVersion"), Kind: ErrUnknownKind,
			Detail: fmt.Sprintf("apiVersion %q", values[0]), Fix: "write version or group/version, such as apps/v1",
		}
	}
	return groupVersion.WithKind(values[1]), nil
}

// checkName requires a name and settles the namespace. Errors: ErrMissing,
// ErrWrongType, ErrBadName.
func checkName(content parsed, object Object) error {
	metadata, isMap := content.fields["metadata"].(map[string]any)
	if !isMap && content.fields["metadata"] != nil {
		return &Error{
			Place: at(content, "metadata"), Kind: ErrWrongType,
			Detail: "metadata is " + describe(content.fields["metadata"]), Fix: "write a mapping of fields",
		}
	}
	kind := object.Mapping.GroupVersionKind.Kind
	for _, field := range []string{"name", "namespace"} {
		value := metadata[field]
		text, isText := value.(string)
		place := at(content, "metadata", field)
		if value != nil && !isText {
			return &Error{
				Place: place, Kind: ErrWrongType,
				Detail: fmt.Sprintf("metadata.%s is %s", field, describe(value)),
				Fix:    "write a text (put quotes around it)" + content.boolHint("metadata", field),
			}
		}
		if field == "name" && text == "" {
			return &Error{
				Place: place, Kind: ErrMissing, Detail: "metadata.name of this " + kind,
				Fix: "give it a name (generateName is not enough here: a second run would make a second object)",
			}
		}
		if problems := validate.IsPathSegmentName(text); len(problems) > 0 {
			return &Error{
				Place: place, Kind: ErrBadName, Detail: fmt.Sprintf("%s %q: %s", field, text, problems[0]), Fix: "rename it",
			}
		}
	}
	return settleNamespace(content, object)
}

func settleNamespace(content parsed, object Object) error {
	hasNamespace := object.Content.GetNamespace() != ""
	namespaced := object.Mapping.Scope.Name() == meta.RESTScopeNameNamespace
	switch {
	case namespaced && !hasNamespace:
		object.Content.SetNamespace(metav1.NamespaceDefault)
	case !namespaced && hasNamespace:
		return &Error{
			Place: at(content, "metadata", "namespace"), Kind: ErrBadName,
			Detail: fmt.Sprintf("a %s belongs to no namespace, this one names %q",
				object.Mapping.GroupVersionKind.Kind, object.Content.GetNamespace()),
			Fix: "remove metadata.namespace",
		}
	}
	return nil
}

// findDuplicate compares by resource, not by version: apps/v1 and apps/v1beta1
// are two views of one object.
func findDuplicate(objects []Object) error {
	first := map[string]Place{}
	for _, object := range objects {
		key := object.Mapping.Resource.GroupResource().String() + " " + keyOf(object.Content)
		if place, seen := first[key]; seen {
			return &Error{
				Place: object.Place, Kind: ErrDuplicate,
				Detail: fmt.Sprintf("%s is already defined in %s", object, place),
				Fix:    "remove or rename one of them",
			}
		}
		first[key] = object.Place
	}
	return nil
}

// at is the place of a field of the content.
func at(content parsed, path ...any) Place {
	place := content.place
	place.Line = content.line(path...)
	return place
}
