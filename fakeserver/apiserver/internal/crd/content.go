package crd

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

// content is what a version, or all of them alike, says of objects.
type content struct {
	schema       *apiextensions.CustomResourceValidation
	subresources *apiextensions.CustomResourceSubresources
	columns      []apiextensions.CustomResourceColumnDefinition
	selectable   []apiextensions.SelectableField
}

// validateContent checks it. at is where it is, and schemaAt where its schema is.
func validateContent(c content, at, schemaAt *field.Path) field.ErrorList {
	var errs field.ErrorList
	var structural *schema.Structural
	if c.schema != nil && c.schema.OpenAPIV3Schema != nil {
		path := schemaAt.Child("openAPIV3Schema")
		errs = append(errs, validateSchema(c.schema.OpenAPIV3Schema, path)...)
		var err error
		if structural, err = schema.NewStructural(c.schema.OpenAPIV3Schema); err != nil {
			errs = append(errs, field.Invalid(path, "", err.Error()))
		} else if found := schema.ValidateStructural(path, structural); len(found) > 0 {
			errs = append(errs, found...)
		} else {
			errs = append(errs, validateDefaults(structural, path)...)
		}
	}
	if c.subresources != nil && c.subresources.Scale != nil {
		errs = append(errs, validateScale(c.subresources.Scale, at.Child("subresources", "scale"))...)
	}
	for i, column := range c.columns {
		errs = append(errs, validateColumn(column, at.Child("additionalPrinterColumns").Index(i))...)
	}
	for i, f := range c.selectable {
		errs = append(errs, validateSelectable(f.JSONPath, structural, at.Child("selectableFields").Index(i).Child("jsonPath"))...)
	}
	return errs
}

// validateSchema checks what the rules for structural schemas do not.
func validateSchema(s *apiextensions.JSONSchemaProps, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			errs = append(errs, field.Invalid(path.Child("pattern"), s.Pattern, "must be a valid regular expression, but isn't: "+err.Error()))
		}
	}
	if types := []string{"", "array", "boolean", "integer", "number", "object", "string"}; !slices.Contains(types, s.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), s.Type, types[1:]))
	}
	errs = append(errs, validateLists(s, path)...)
	if s.Items != nil && s.Items.Schema != nil {
		errs = append(errs, validateSchema(s.Items.Schema, path.Child("items"))...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		errs = append(errs, validateSchema(s.AdditionalProperties.Schema, path.Child("additionalProperties"))...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		errs = append(errs, validateSchema(&property, path.Child("properties").Key(name))...)
	}
	return errs
}

// validateLists checks how elements of lists are to be told apart.
func validateLists(s *apiextensions.JSONSchemaProps, path *field.Path) field.ErrorList {
	if s.XListType == nil {
		if len(s.XListMapKeys) == 0 {
			return nil
		}
		return field.ErrorList{field.Required(path.Child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty")}
	}
	var errs field.ErrorList
	if s.Type != "array" {
		errs = append(errs, field.Invalid(path.Child("type"), s.Type, "must be array if x-kubernetes-list-type is specified"))
	}
	switch *s.XListType {
	case "atomic", "set":
	case "map":
		if len(s.XListMapKeys) == 0 {
			return append(errs, field.Required(path.Child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"))
		}
		if s.Items == nil || s.Items.Schema == nil {
			return append(errs, field.Required(path.Child("items"), "must have a schema if x-kubernetes-list-type is map"))
		}
		for _, key := range s.XListMapKeys {
			if _, ok := s.Items.Schema.Properties[key]; !ok {
				errs = append(errs, field.Invalid(path.Child("x-kubernetes-list-map-keys"), s.XListMapKeys,
					"entries must all be names of item properties"))
			}
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("x-kubernetes-list-type"), *s.XListType, []string{"atomic", "set", "map"}))
	}
	return errs
}

// validateDefaults: a default must be a value that the schema accepts.
func validateDefaults(s *schema.Structural, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Default.Object != nil {
		errs = problems(path.Child("default"), newValidator(openAPI(s)).Validate(s.Default.Object))
	}
	if s.Items != nil {
		errs = append(errs, validateDefaults(s.Items, path.Child("items"))...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		errs = append(errs, validateDefaults(s.AdditionalProperties.Structural, path.Child("additionalProperties"))...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		errs = append(errs, validateDefaults(&property, path.Child("properties").Key(name))...)
	}
	return errs
}

func validateScale(scale *apiextensions.CustomResourceSubresourceScale, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, at := range []struct{ field, value, root string }{
		{"specReplicasPath", scale.SpecReplicasPath, ".spec."}, {"statusReplicasPath", scale.StatusReplicasPath, ".status."},
	} {
		switch {
		case at.value == "":
			errs = append(errs, field.Required(path.Child(at.field), ""))
		case !strings.HasPrefix(at.value, at.root):
			errs = append(errs, field.Invalid(path.Child(at.field), at.value, "should be a json path under "+strings.TrimSuffix(at.root, ".")))
		}
	}
	return errs
}

var columnTypes = []string{"boolean", "date", "integer", "number", "string"}

func validateColumn(column apiextensions.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if column.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	oneOf := "must be one of " + strings.Join(columnTypes, ",")
	if column.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), oneOf))
	} else if !slices.Contains(columnTypes, column.Type) {
		errs = append(errs, field.Invalid(path.Child("type"), column.Type, oneOf))
	}
	if column.JSONPath == "" {
		return append(errs, field.Required(path.Child("JSONPath"), ""))
	}
	if err := jsonpath.New("").Parse("{" + column.JSONPath + "}"); err != nil {
		errs = append(errs, field.Invalid(path.Child("JSONPath"), column.JSONPath, "is an invalid path: "+err.Error()))
	}
	return errs
}

func validateSelectable(path string, s *schema.Structural, at *field.Path) field.ErrorList {
	if path == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	names := Path(path)
	for _, name := range names {
		if s = below(s, name); s == nil {
			return field.ErrorList{field.Invalid(at, path, "is an invalid path: does not refer to a valid field")}
		}
	}
	if names[0] == "metadata" {
		return field.ErrorList{field.Invalid(at, path, "must not point to fields in metadata")}
	}
	if !slices.Contains([]string{"string", "boolean", "integer"}, s.Type) {
		return field.ErrorList{field.Invalid(at, path,
			"must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.")}
	}
	return nil
}

// Path are the names in a simple JSON path, such as ".spec.replicas".
func Path(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
