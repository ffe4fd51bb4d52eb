package crd_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/listwatch/listwatch/fakeserver/apiserver/internal/crd"
)

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func compile(t *testing.T, text string) *crd.Schema {
	t.Helper()
	props := parse[apiextensionsv1.JSONSchemaProps](t, text)
	s, err := crd.NewSchema(&props)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// spec is a schema of objects whose spec has a schema.
func spec(text string) string {
	return `{"type":"object","properties":{"spec":` + text + `}}`
}

func TestDefaultsFillWhatIsMissingAndReplaceNullsThatAreNotAllowed(t *testing.T) {
	s := compile(t, spec(`{"type":"object","properties":{
		"color":{"type":"string","default":"red"},
		"free":{"type":"string","nullable":true,"default":"x"},
		"none":{"type":"string"},
		"deep":{"type":"object","default":{},"properties":{"on":{"type":"boolean","default":true}}},
		"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","default":1}}}},
		"map":{"type":"object","additionalProperties":{"type":"string","default":"m"}}}}`))
	for given, want := range map[string]string{
		`{}`:                                     `{}`,
		`{"spec":{}}`:                            `{"spec":{"color":"red","free":"x","deep":{"on":true}}}`,
		`{"spec":{"color":null,"free":null}}`:    `{"spec":{"color":"red","free":null,"deep":{"on":true}}}`,
		`{"spec":{"none":null,"color":"b"}}`:     `{"spec":{"color":"b","free":"x","deep":{"on":true}}}`,
		`{"spec":{"list":[{},{"n":2}]}}`:         `{"spec":{"color":"red","free":"x","deep":{"on":true},"list":[{"n":1},{"n":2}]}}`,
		`{"spec":{"map":{"a":null,"b":"c"}}}`:    `{"spec":{"color":"red","free":"x","deep":{"on":true},"map":{"a":"m","b":"c"}}}`,
		`{"spec":{"deep":{"on":false}}}`:         `{"spec":{"color":"red","free":"x","deep":{"on":false}}}`,
		`{"spec":null}`:                          `{}`,
		`{"other":{"color":null},"spec":"text"}`: `{"other":{"color":null},"spec":"text"}`,
	} {
		content := parse[map[string]any](t, given)
		s.Default(content)
		if wanted := normal(t, parse[map[string]any](t, want)); !reflect.DeepEqual(normal(t, content), wanted) {
			t.Errorf("%s: got %v, want %s", given, content, want)
		}
	}
}

// normal makes numbers alike.
func normal(t *testing.T, value map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return parse[map[string]any](t, string(data))
}

func TestPruningNamesWhatItRemovesAndSparesMetadata(t *testing.T) {
	s := compile(t, spec(`{"type":"object","properties":{"a":{"type":"string"},
		"kept":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`))
	content := parse[map[string]any](t, `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"top":1,
		"spec":{"a":"x","b":1,"kept":{"z":1}}}`)
	removed := s.Prune(content)
	if want := []string{"spec.b", "top"}; !slices.Equal(removed, want) {
		t.Errorf("removed %v, want %v", removed, want)
	}
	want := `{"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"spec":{"a":"x","kept":{"z":1}}}`
	if !reflect.DeepEqual(content, parse[map[string]any](t, want)) {
		t.Errorf("left %v, want %s", content, want)
	}
}

func TestValuesAreValidatedInTheWordsOfTheAPI(t *testing.T) {
	s := compile(t, `{"type":"object","required":["spec"],"properties":{
		"spec":{"type":"object","required":["must"],"properties":{
			"must":{"type":"string"},"few":{"type":"array","maxItems":1,"items":{"type":"string"}},
			"kind":{"type":"string","enum":["a","b"]},"small":{"type":"integer","minimum":1,"maximum":3},
			"short":{"type":"string","maxLength":2,"pattern":"^x"},"either":{"x-kubernetes-int-or-string":true},
			"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}},
		"status":{"type":"object","properties":{"n":{"type":"integer"}}}}}`)
	for given, want := range map[string]string{
		`{"spec":{"must":"x","either":1}}`:             "",
		`{"spec":{"must":"x","either":"1"}}`:           "",
		`{}`:                                           `spec: Required value`,
		`{"spec":{}}`:                                  `spec.must: Required value`,
		`{"spec":{"must":1}}`:                          `spec.must: Invalid value: "integer": spec.must in body must be of type string: "integer"`,
		`{"spec":{"must":"x","kind":"c"}}`:             `spec.kind: Unsupported value: "c": supported values: "a", "b"`,
		`{"spec":{"must":"x","few":["a","b"]}}`:        `spec.few: Too many: 2: must have at most 1 item`,
		`{"spec":{"must":"x","small":0}}`:              `spec.small: Invalid value: 0: spec.small in body should be greater than or equal to 1`,
		`{"spec":{"must":"x","small":4}}`:              `spec.small: Invalid value: 4: spec.small in body should be less than or equal to 3`,
		`{"spec":{"must":"x","short":"xyz"}}`:          `spec.short: Too long: may not be more than 2 bytes`,
		`{"spec":{"must":"x","short":"y"}}`:            `spec.short: Invalid value: "y": spec.short in body should match '^x'`,
		`{"spec":{"must":"x","either":true}}`:          `spec.either: Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"`,
		`{"spec":{"must":"x","set":["a","a"]}}`:        `spec.set[1]: Duplicate value: "a"`,
		`{"spec":{"must":"x"},"status":{"n":"a few"}}`: `status.n: Invalid value: "string": status.n in body must be of type integer: "string"`,
	} {
		got := ""
		if errs := s.Validate(decode(t, given), false); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", given, got, want)
		}
	}
	if errs := s.Validate(decode(t, `{"spec":1,"status":{"n":1}}`), true); len(errs) > 0 {
		t.Errorf("the status alone: %v", errs)
	}
	if errs := s.Validate(decode(t, `{"status":{"n":"x"}}`), true); len(errs) != 1 || errs[0].Field != "status.n" {
		t.Errorf("a bad status: %v", errs)
	}
}
