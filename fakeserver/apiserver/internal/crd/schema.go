package crd

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// Schema is what one version of a resource says about its objects.
type Schema struct {
	structural *schema.Structural
	openapi    *spec.Schema
	validator  *validate.SchemaValidator
	status     *validate.SchemaValidator // nil: the status is not described
}

// NewSchema compiles a schema. Errors wrap ErrSchema.
func NewSchema(props *apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	if props == nil {
		props = &apiextensionsv1.JSONSchemaProps{Type: "object"}
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, internal, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	s := &Schema{structural: structural, openapi: openAPI(structural)}
	s.validator = newValidator(s.openapi)
	if status, ok := s.openapi.Properties["status"]; ok {
		s.status = newValidator(&status)
	}
	return s, nil
}

func newValidator(s *spec.Schema) *validate.SchemaValidator {
	return validate.NewSchemaValidator(s, nil, "", strfmt.Default)
}

// openAPI is the schema as validators and the trackers of fields read it.
func openAPI(s *schema.Structural) *spec.Schema {
	converted := s.ToKubeOpenAPI()
	typeIntOrString(converted)
	return converted
}

// typeIntOrString gives values that may be of either type both, which is how
// validators know of it.
func typeIntOrString(s *spec.Schema) {
	if both, ok := s.Extensions.GetBool("x-kubernetes-int-or-string"); ok && both {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	for name, property := range s.Properties {
		typeIntOrString(&property)
		s.Properties[name] = property
	}
	if s.Items != nil && s.Items.Schema != nil {
		typeIntOrString(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		typeIntOrString(s.AdditionalProperties.Schema)
	}
}

// Prune removes from the content of an object what the schema does not know,
// and returns the paths of it, sorted. Kind, apiVersion and metadata stay.
func (s *Schema) Prune(content map[string]any) []string {
	return pruning.PruneWithOptions(content, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// Default fills in the defaults of what is missing, and of nulls where the
// schema allows none; other such nulls are removed.
func (s *Schema) Default(content map[string]any) {
	dropNulls(content, s.structural)
	fill(content, s.structural)
}

// Validate checks the content of an object. With statusOnly, its status alone.
func (s *Schema) Validate(content map[string]any, statusOnly bool) field.ErrorList {
	if statusOnly {
		status, has := content["status"]
		if !has || s.status == nil {
			return nil
		}
		return problems(field.NewPath("status"), s.status.Validate(status))
	}
	errs := problems(nil, s.validator.Validate(content))
	return append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, content)...)
}

// below is the schema of a member of an object.
func below(s *schema.Structural, name string) *schema.Structural {
	if s == nil {
		return nil
	}
	if property, ok := s.Properties[name]; ok {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

func items(s *schema.Structural) *schema.Structural {
	if s == nil {
		return nil
	}
	return s.Items
}

// misplaced says that value is a null where s allows none.
func misplaced(value any, s *schema.Structural) bool { return value == nil && s != nil && !s.Nullable }

// dropNulls removes misplaced nulls that have no default. Those in lists stay:
// removing them would move the others.
func dropNulls(value any, s *schema.Structural) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			of := below(s, name)
			if misplaced(member, of) && of.Default.Object == nil {
				delete(v, name)
				continue
			}
			dropNulls(member, of)
		}
	case []any:
		for _, element := range v {
			dropNulls(element, items(s))
		}
	}
}

// fill sets the defaults of s in value, and those within what it has set.
func fill(value any, s *schema.Structural) {
	if s == nil {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if member, has := v[name]; property.Default.Object != nil && (!has || misplaced(member, &property)) {
				v[name] = runtime.DeepCopyJSONValue(property.Default.Object)
			}
		}
		for name, member := range v {
			of := below(s, name)
			if misplaced(member, of) {
				v[name] = runtime.DeepCopyJSONValue(of.Default.Object)
			}
			fill(v[name], of)
		}
	case []any:
		for i := range v {
			if misplaced(v[i], s.Items) {
				v[i] = runtime.DeepCopyJSONValue(s.Items.Default.Object)
			}
			fill(v[i], s.Items)
		}
	}
}
