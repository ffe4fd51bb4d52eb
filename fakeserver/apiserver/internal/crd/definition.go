package crd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SetDefaults fills in what a definition does not say.
func SetDefaults(d *apiextensionsv1.CustomResourceDefinition) {
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(d)
}

// PrepareStored notes that objects may be stored in the version that is now the
// one for storage.
func PrepareStored(d *apiextensionsv1.CustomResourceDefinition) {
	for _, v := range d.Spec.Versions {
		if v.Storage {
			if !slices.Contains(d.Status.StoredVersions, v.Name) {
				d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
			}
			return
		}
	}
}

// Validate checks a definition beyond its metadata. old is nil when it is
// created.
func Validate(next, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	// Problems are recorded as a real server finds them, which is after it has
	// moved what all versions have in common out of them.
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(next, internal, nil); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var errs field.ErrorList
	spec, path := &internal.Spec, field.NewPath("spec")
	if old == nil && next.Name != next.Spec.Names.Plural+"."+next.Spec.Group {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), next.Name, `must be spec.names.plural+"."+spec.group`))
	}
	errs = append(errs, validateGroup(spec, path)...)
	errs = append(errs, validateVersions(spec, path)...)
	errs = append(errs, validateNames(&spec.Names, path.Child("names"))...)
	errs = append(errs, validateContent(content{
		schema: spec.Validation, subresources: spec.Subresources, columns: spec.AdditionalPrinterColumns, selectable: spec.SelectableFields,
	}, path, path.Child("validation"))...)
	errs = append(errs, validateConversion(spec.Conversion, path.Child("conversion"))...)
	if old != nil {
		errs = append(errs, validateFixed(next, old, path)...)
	}
	errs = append(errs, validateStored(internal.Status.StoredVersions, spec.Versions)...)
	errs = append(errs, validateApproval(next, old)...)
	if next.Spec.PreserveUnknownFields && (old == nil || !old.Spec.PreserveUnknownFields) {
		errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true,
			"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"))
	}
	return errs
}

// validateGroup checks in which group and how objects are to be found.
func validateGroup(spec *apiextensions.CustomResourceDefinitionSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("group")
	if spec.Group == "" {
		errs = append(errs, field.Required(at, ""))
	} else if found := utilvalidation.IsDNS1123Subdomain(spec.Group); len(found) > 0 {
		errs = append(errs, field.Invalid(at, spec.Group, strings.Join(found, ",")))
	} else if !strings.Contains(spec.Group, ".") {
		errs = append(errs, field.Invalid(at, spec.Group, "should be a domain with at least one dot"))
	}
	switch spec.Scope {
	case apiextensions.ClusterScoped, apiextensions.NamespaceScoped:
	case "":
		errs = append(errs, field.Required(path.Child("scope"), ""))
	default:
		errs = append(errs, field.NotSupported(path.Child("scope"), spec.Scope,
			[]apiextensions.ResourceScope{apiextensions.ClusterScoped, apiextensions.NamespaceScoped}))
	}
	return errs
}

func validateVersions(spec *apiextensions.CustomResourceDefinitionSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	shared := spec.Validation != nil && spec.Validation.OpenAPIV3Schema != nil
	for i, v := range spec.Versions {
		if !shared && (v.Schema == nil || v.Schema.OpenAPIV3Schema == nil) {
			errs = append(errs, field.Required(path.Child("versions").Index(i).Child("schema", "openAPIV3Schema"), ""))
		}
	}
	seen, twice, storing := map[string]bool{}, false, 0
	for i, v := range spec.Versions {
		at := path.Child("versions").Index(i)
		if found := utilvalidation.IsDNS1035Label(v.Name); len(found) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), v.Name, strings.Join(found, ",")))
		}
		twice = twice || seen[v.Name]
		seen[v.Name] = true
		if v.Storage {
			storing++
		}
		if v.DeprecationWarning != nil && !v.Deprecated {
			errs = append(errs, field.Invalid(at.Child("deprecationWarning"), v.DeprecationWarning, "can only be set for deprecated versions"))
		}
		errs = append(errs, validateContent(content{
			schema: v.Schema, subresources: v.Subresources, columns: v.AdditionalPrinterColumns, selectable: v.SelectableFields,
		}, at, at.Child("schema"))...)
	}
	if twice {
		errs = append(errs, field.Invalid(path.Child("versions"), spec.Versions, "must contain unique version names"))
	}
	if storing != 1 {
		errs = append(errs, field.Invalid(path.Child("versions"), spec.Versions, "must have exactly one version marked as storage version"))
	}
	if found := utilvalidation.IsDNS1035Label(spec.Version); spec.Version != "" && len(found) > 0 {
		errs = append(errs, field.Invalid(path.Child("version"), spec.Version, strings.Join(found, ",")))
	}
	return errs
}

func validateNames(names *apiextensions.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	all := []struct {
		field, value string
		plain        bool // kinds may have upper case
	}{
		{"plural", names.Plural, true}, {"singular", names.Singular, true}, {"kind", names.Kind, false}, {"listKind", names.ListKind, false},
	}
	for _, name := range all {
		if name.value == "" {
			errs = append(errs, field.Required(path.Child(name.field), ""))
		}
	}
	label := func(at *field.Path, value string, plain bool) {
		checked := value
		if !plain {
			checked = strings.ToLower(value)
		}
		if found := utilvalidation.IsDNS1035Label(checked); value != "" && len(found) > 0 {
			suffix := ""
			if !plain {
				suffix = "may have mixed case, but should otherwise match: "
			}
			errs = append(errs, field.Invalid(at, value, suffix+strings.Join(found, ",")))
		}
	}
	for _, name := range all {
		label(path.Child(name.field), name.value, name.plain)
	}
	for i, name := range names.ShortNames {
		label(path.Child("shortNames").Index(i), name, true)
	}
	for i, name := range names.Categories {
		label(path.Child("categories").Index(i), name, true)
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		errs = append(errs, field.Invalid(path.Child("listKind"), names.ListKind, "kind and listKind may not be the same"))
	}
	return errs
}

func validateConversion(conversion *apiextensions.CustomResourceConversion, path *field.Path) field.ErrorList {
	if conversion == nil || conversion.Strategy == apiextensions.NoneConverter {
		return nil
	}
	if conversion.Strategy != apiextensions.WebhookConverter {
		return field.ErrorList{field.NotSupported(path.Child("strategy"), conversion.Strategy,
			[]apiextensions.ConversionStrategyType{apiextensions.NoneConverter, apiextensions.WebhookConverter})}
	}
	return field.ErrorList{field.Invalid(path.Child("strategy"), conversion.Strategy, "webhooks are not called here")}
}

// validateFixed: what objects are found by must stay.
func validateFixed(next, old *apiextensionsv1.CustomResourceDefinition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if IsTrue(old, apiextensionsv1.Established) {
		errs = append(errs, validation.ValidateImmutableField(next.Spec.Scope, old.Spec.Scope, path.Child("scope"))...)
		errs = append(errs, validation.ValidateImmutableField(next.Spec.Names.Kind, old.Spec.Names.Kind, path.Child("names", "kind"))...)
	}
	errs = append(errs, validation.ValidateImmutableField(next.Spec.Group, old.Spec.Group, path.Child("group"))...)
	return append(errs, validation.ValidateImmutableField(next.Spec.Names.Plural, old.Spec.Names.Plural, path.Child("names", "plural"))...)
}

// validateStored checks the versions in which objects are said to be stored.
func validateStored(stored []string, versions []apiextensions.CustomResourceDefinitionVersion) field.ErrorList {
	path := field.NewPath("status", "storedVersions")
	if len(stored) == 0 {
		return field.ErrorList{field.Invalid(path, stored, "must have at least one stored version")}
	}
	var errs field.ErrorList
	for _, v := range versions {
		if v.Storage && !slices.Contains(stored, v.Name) {
			errs = append(errs, field.Invalid(path, stored, "must have the storage version "+v.Name))
		}
	}
	for i, name := range stored {
		if !slices.ContainsFunc(versions, func(v apiextensions.CustomResourceDefinitionVersion) bool { return v.Name == name }) {
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("missing from spec.versions; %[1]s was previously a "+
				"storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "+
				"%[1]s and removes %[1]s from status.storedVersions", name)))
		}
	}
	return errs
}

// validateApproval: groups of the project itself need to say who approved them.
func validateApproval(next, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	const annotation = apiextensionsv1.KubeAPIApprovedAnnotation
	group := next.Spec.Group
	protected := group == "k8s.io" || strings.HasSuffix(group, ".k8s.io") || group == "kubernetes.io" || strings.HasSuffix(group, ".kubernetes.io")
	if !protected || next.Annotations[annotation] != "" {
		return nil
	}
	if old != nil && equality.Semantic.DeepEqual(old.Annotations[annotation], next.Annotations[annotation]) {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("metadata", "annotations").Key(annotation), fmt.Sprintf(
		"protected groups must have approval annotation %q, see https://github.com/kubernetes/enhancements/pull/1111", annotation))}
}
