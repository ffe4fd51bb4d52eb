package crd_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

// decode keeps integers, as objects have them.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	content := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &content); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return content
}

func definition(t *testing.T, name string, more ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d := parse[apiextensionsv1.CustomResourceDefinition](t, `{"metadata":{"name":"`+name+`s.example.com"},"spec":{
		"group":"example.com","scope":"Namespaced","names":{"plural":"`+name+`s","kind":"`+strings.ToUpper(name[:1])+name[1:]+`"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
			"properties":{"spec":{"type":"object","properties":{"n":{"type":"integer"}}}}}}}]}}`)
	for _, change := range more {
		change(&d)
	}
	crd.SetDefaults(&d)
	crd.PrepareStored(&d)
	return &d
}

type change = func(*apiextensionsv1.CustomResourceDefinition)

func schemaOf(d *apiextensionsv1.CustomResourceDefinition) apiextensionsv1.JSONSchemaProps {
	return d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["n"]
}

func TestDefinitionsAreRefusedForWhatIsWrongWithThem(t *testing.T) {
	version := func(change func(*apiextensionsv1.CustomResourceDefinitionVersion)) change {
		return func(d *apiextensionsv1.CustomResourceDefinition) { change(&d.Spec.Versions[0]) }
	}
	property := func(change func(*apiextensionsv1.JSONSchemaProps)) change {
		return func(d *apiextensionsv1.CustomResourceDefinition) {
			props := schemaOf(d)
			change(&props)
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["n"] = props
		}
	}
	for name, test := range map[string]struct {
		change change
		want   string
	}{
		"nothing":   {func(*apiextensionsv1.CustomResourceDefinition) {}, ""},
		"its name":  {func(d *apiextensionsv1.CustomResourceDefinition) { d.Name = "x" }, "metadata.name: Invalid value"},
		"no group":  {func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Group = "" }, "spec.group: Required value"},
		"its scope": {func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = "" }, "spec.scope: Required value"},
		"a short name": {func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.ShortNames = []string{"W"} },
			"spec.names.shortNames[0]: Invalid value"},
		"webhooks": {func(d *apiextensionsv1.CustomResourceDefinition) {
			d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
		}, "spec.conversion.strategy: Invalid value"},
		"a warning without deprecation": {version(func(v *apiextensionsv1.CustomResourceDefinitionVersion) { v.DeprecationWarning = new(string) }),
			"spec.versions[0].deprecationWarning: Invalid value"},
		"a scale path": {version(func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.Subresources = &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
				SpecReplicasPath: ".status.n", StatusReplicasPath: ".status.n"}}
		}), "spec.subresources.scale.specReplicasPath: Invalid value"},
		"a column without path": {version(func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "A", Type: "string"}}
		}), "spec.additionalPrinterColumns[0].JSONPath: Required value"},
		"a selectable field that is none": {version(func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			v.SelectableFields = []apiextensionsv1.SelectableField{{JSONPath: ".spec.x"}}
		}), "spec.selectableFields[0].jsonPath: Invalid value"},
		"a pattern": {property(func(p *apiextensionsv1.JSONSchemaProps) { p.Pattern = "(" }),
			"spec.validation.openAPIV3Schema.properties[spec].properties[n].pattern: Invalid value"},
		"a list type": {property(func(p *apiextensionsv1.JSONSchemaProps) { p.XListType = new(string) }),
			"spec.validation.openAPIV3Schema.properties[spec].properties[n].type: Invalid value"},
		"a type": {property(func(p *apiextensionsv1.JSONSchemaProps) { p.Type = "int" }),
			"spec.validation.openAPIV3Schema.properties[spec].properties[n].type: Unsupported value"},
		"a default": {property(func(p *apiextensionsv1.JSONSchemaProps) { p.Default = &apiextensionsv1.JSON{Raw: []byte(`"x"`)} }),
			"spec.validation.openAPIV3Schema.properties[spec].properties[n].default: Invalid value"},
	} {
		errs := crd.Validate(definition(t, "widget", test.change), nil)
		switch {
		case test.want == "" && len(errs) > 0:
			t.Errorf("%s: %v", name, errs)
		case test.want != "" && !slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Error(), test.want) }):
			t.Errorf("%s: got %v, want %s", name, errs, test.want)
		}
	}
}

func TestNamesAreGivenToWhoComesFirst(t *testing.T) {
	now := metav1.NewTime(time.Unix(1, 0))
	first := definition(t, "widget")
	crd.SettleNames(first, nil, now)
	if !crd.IsTrue(first, apiextensionsv1.NamesAccepted) || !crd.IsTrue(first, apiextensionsv1.Established) {
		t.Fatalf("the first: %+v", first.Status)
	}
	second := definition(t, "gadget", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.ShortNames = []string{"widget"} })
	all := []*apiextensionsv1.CustomResourceDefinition{first, second}
	crd.SettleNames(second, all, now)
	if c := crd.Condition(second, apiextensionsv1.NamesAccepted); c == nil || c.Reason != "ShortNamesConflict" || c.Message != `"widget" is already in use` {
		t.Errorf("the second: %+v", c)
	}
	if crd.IsTrue(second, apiextensionsv1.Established) || second.Status.AcceptedNames.Plural != "gadgets" {
		t.Errorf("the second: %+v", second.Status)
	}
	other := definition(t, "gadget", func(d *apiextensionsv1.CustomResourceDefinition) {
		d.Spec.Group, d.Name = "other.example.com", "gadgets.other.example.com"
		d.Spec.Names.ShortNames = []string{"widget"}
	})
	if crd.SettleNames(other, all, now); !crd.IsTrue(other, apiextensionsv1.Established) {
		t.Errorf("in another group: %+v", other.Status)
	}
	later := metav1.NewTime(time.Unix(2, 0))
	crd.SettleNames(second, all[1:], later) // the first is gone
	if c := crd.Condition(second, apiextensionsv1.Established); !crd.IsTrue(second, apiextensionsv1.NamesAccepted) || c.LastTransitionTime != later {
		t.Errorf("once the name is free: %+v", second.Status)
	}
	crd.SettleNames(first, all, later)
	if c := crd.Condition(first, apiextensionsv1.Established); c.LastTransitionTime != now {
		t.Errorf("a condition that stays has another time: %v", c.LastTransitionTime)
	}
}
