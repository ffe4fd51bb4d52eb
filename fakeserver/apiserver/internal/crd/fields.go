package crd

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// metadataName is the name under which schemas refer to that of the metadata.
const metadataName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// Fields returns what knows the fields of a kind in all of its versions, for
// tracking who manages them. Errors wrap ErrSchema.
func Fields(kind schema.GroupKind, versions map[string]*Schema) (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{metadataName: metadataSchema()}
	for version, s := range versions {
		model := *s.openapi
		model.Properties = map[string]spec.Schema{}
		for name, property := range s.openapi.Properties {
			model.Properties[name] = property
		}
		model.Properties["apiVersion"] = scalar("string")
		model.Properties["kind"] = scalar("string")
		model.Properties["metadata"] = spec.Schema{SchemaProps: spec.SchemaProps{
			Ref: spec.MustCreateRef("#/components/schemas/" + metadataName),
		}}
		model.VendorExtensible = spec.VendorExtensible{Extensions: spec.Extensions{}}
		for name, value := range s.openapi.Extensions {
			model.Extensions[name] = value
		}
		model.AddExtension("x-kubernetes-group-version-kind", []any{
			map[string]any{"group": kind.Group, "version": version, "kind": kind.Kind},
		})
		models[kind.Group+"."+version+"."+kind.Kind] = &model
	}
	converter, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return converter, nil
}

func scalar(kind string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{kind}}}
}

func list(of spec.Schema, extensions spec.Extensions) spec.Schema {
	return spec.Schema{
		SchemaProps:      spec.SchemaProps{Type: spec.StringOrArray{"array"}, Items: &spec.SchemaOrArray{Schema: &of}},
		VendorExtensible: spec.VendorExtensible{Extensions: extensions},
	}
}

func object(properties map[string]spec.Schema) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: properties}}
}

func texted() spec.Schema {
	value := scalar("string")
	return spec.Schema{SchemaProps: spec.SchemaProps{
		Type: spec.StringOrArray{"object"}, AdditionalProperties: &spec.SchemaOrBool{Allows: true, Schema: &value},
	}}
}

// metadataSchema is that of metav1.ObjectMeta, as far as it matters who manages
// what.
func metadataSchema() *spec.Schema {
	owner := object(map[string]spec.Schema{
		"apiVersion": scalar("string"), "kind": scalar("string"), "name": scalar("string"), "uid": scalar("string"),
		"controller": scalar("boolean"), "blockOwnerDeletion": scalar("boolean"),
	})
	owner.AddExtension("x-kubernetes-map-type", "atomic")
	properties := map[string]spec.Schema{
		"labels": texted(), "annotations": texted(),
		"finalizers":      list(scalar("string"), spec.Extensions{"x-kubernetes-list-type": "set"}),
		"ownerReferences": list(owner, spec.Extensions{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"uid"}}),
		"managedFields":   list(object(nil), spec.Extensions{"x-kubernetes-list-type": "atomic"}),
		"generation":      scalar("integer"), "deletionGracePeriodSeconds": scalar("integer"),
	}
	for _, name := range []string{
		"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
	} {
		properties[name] = scalar("string")
	}
	metadata := object(properties)
	return &metadata
}
