package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// text is one file of manifests under the name that the tests give it.
func text(name, content string) []File {
	return []File{{Name: name, Data: []byte(content)}}
}

const goodConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: good\n"

// Each bad input gives one error: its kind, and the place, cause and remedy in
// its text.
var badManifests = []struct {
	name  string
	file  string // "a.yaml" if empty
	input string
	kind  error
	want  []string
}{
	{
		"plain text", "", "no yaml: at all: here\n", ErrSyntax,
		[]string{"a.yaml, document 1, line 1: not valid: this is no YAML: mapping values are not allowed"},
	},
	{
		"a tab as indentation, in the second document", "", goodConfigMap + "---\napiVersion: v1\nkind: Pod\nmetadata:\n\tname: x\n",
		ErrSyntax, []string{"a.yaml, document 2, line 9: not valid: this is no YAML: found character that cannot start any token"},
	},
	{
		"a bracket that is not closed", "", goodConfigMap + "data: {a: b\n", ErrSyntax, []string{"a.yaml, document 1, line ", "no YAML"},
	},
	{
		"bytes that are no text", "", "\xff\xfe\x00binary", ErrSyntax, []string{"a.yaml, document 1"},
	},
	{
		"a key twice", "", goodConfigMap + "data:\n  a: b\n  a: c\n", ErrSyntax,
		[]string{`a.yaml, document 1, line 7: not valid: the key "a" stands twice in one mapping; remove or rename one of the two`},
	},
	{
		"a key twice as YAML reads it", "", goodConfigMap + "data:\n  y: b\n  Yes: c\n", ErrSyntax,
		[]string{`line 7: not valid: the key true stands twice in one mapping; remove or rename one of the two; YAML reads y, yes, on without quotes as true`},
	},
	{
		"a template's value", "", goodConfigMap + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Values.name }}\n", ErrSyntax,
		[]string{`document 2, line 9: not valid: it looks like a template that was not rendered: name: {{ .Values.name }}; give what comes out of it ("helm template"`},
	},
	{
		"a template's block", "", "{{- if .Values.on }}\n" + goodConfigMap + "{{- end }}\n", ErrSyntax,
		[]string{"document 1, line 1: not valid: it looks like a template that was not rendered: {{- if .Values.on }}; "},
	},
	{
		"a template's value in a text", "", goodConfigMap + "data:\n  a: {{ .Values.a }}-suffix\n", ErrSyntax,
		[]string{"line 6: not valid: it looks like a template that was not rendered: a: {{ .Values.a }}-suffix; "},
	},
	{
		"a bracket that is not closed, far from what looks like a template", "", goodConfigMap + "data:\n  a: |\n    {{ b }}\n  c: d\n  e: f\n  g: [h\n  i: \"{{ j }}\"\n", ErrSyntax,
		[]string{"this is no YAML: did not find"},
	},
	{
		"a key that is a list", "", goodConfigMap + "data:\n  ? [a]\n  : b\n", ErrSyntax,
		[]string{"line 6: not valid: a key of a mapping must be a text, and this one is not; "},
	},
	{
		"a key that is empty", "", goodConfigMap + "data:\n  ~: b\n", ErrSyntax,
		[]string{"line 6: not valid: a key of a mapping must be a text, and this one is not; "},
	},
	{
		"a key that YAML reads as false", "", goodConfigMap + "data:\n  a: b\n  n: 1\n", ErrWrongType,
		[]string{"line 7: wrong type: ConfigMap field data.false is 1, which is not a text; write a text (put quotes around it); YAML reads n without quotes as false, as"},
	},
	{
		"a value that YAML reads as true", "", goodConfigMap + "data: {a: On}\n", ErrWrongType,
		[]string{"ConfigMap field data.a is true, which is not a text; write a text (put quotes around it); YAML reads On without quotes as true"},
	},
	{
		"a custom kind's name that YAML reads as false", "", "apiVersion: shop.example.com/v1\nkind: Teapot\nmetadata: {name: No}\n", ErrWrongType,
		[]string{"metadata.name is false; write a text (put quotes around it); YAML reads No without quotes as false"},
	},
	{
		"a sentence", "", "just a sentence\n", ErrSyntax, []string{`line 1: not valid: a manifest is a mapping of fields, this is the text "just a sentence"`},
	},
	{
		"a bare list", "", "# objects\n- kind: Pod\n", ErrSyntax, []string{"line 2", "this is a list"},
	},
	{
		"broken JSON", "a.json", "{\"apiVersion\": \"v1\",\n\"kind\": Pod}", ErrSyntax,
		[]string{"a.json, document 1, line 2: not valid: this is no JSON: invalid character 'P'"},
	},
	{
		"JSON cut off", "a.json", "{\"apiVersion\": \"v1\",\n", ErrSyntax, []string{"a.json, document 1, line 2", "unexpected EOF"},
	},
	{
		"a JSON key twice", "a.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b"}}`, ErrSyntax,
		[]string{`not valid: the key "metadata.name" stands twice in one mapping`},
	},
	{
		"a document behind a line separator that editors do not show", "", "apiVersion: v1\u2028---\u2028kind: Pod\n", ErrSyntax,
		[]string{"a.yaml, document 1, line 1: not valid", "another document begins in it"},
	},
	{
		"two documents with old line ends, the second bad", "", "apiVersion: v1\rkind: ConfigMap\rmetadata: {name: a}\r---\rkind: Pod\r", ErrMissing,
		[]string{"a.yaml, document 2, line 5: missing field: apiVersion"},
	},
	{
		"an empty file", "", "", ErrEmpty, []string{"a.yaml: nothing in it: the file holds no object"},
	},
	{
		"nothing but comments", "", "# later\n---\n---\n# soon\n...\n", ErrEmpty, []string{"a.yaml: nothing in it"},
	},
	{
		"an empty JSON file", "a.json", " \n", ErrEmpty, []string{"a.json: nothing in it"},
	},
	{
		"an empty list", "", "apiVersion: v1\nkind: List\nitems: []\n", ErrEmpty, []string{"document 1, line 3: nothing in it: the list has no items"},
	},
	{
		"no apiVersion", "", "kind: Pod\nmetadata:\n  name: a\n", ErrMissing, []string{"a.yaml, document 1, line 1: missing field: apiVersion"},
	},
	{
		"no kind", "", goodConfigMap + "---\n\napiVersion: v1\nmetadata:\n  name: a\n", ErrMissing,
		[]string{"a.yaml, document 2, line 7: missing field: kind"},
	},
	{
		"an empty kind", "", "apiVersion: v1\nkind: \"\"\n", ErrMissing, []string{"missing field: kind"},
	},
	{
		"a kind that is a number", "", "apiVersion: v1\nkind: 7\n", ErrWrongType, []string{"line 2: wrong type: kind is 7"},
	},
	{
		"an apiVersion with two slashes", "", "apiVersion: a/b/c\nkind: Pod\n", ErrUnknownKind, []string{`apiVersion "a/b/c"`},
	},
	{
		"an unknown kind", "", goodConfigMap + "---\napiVersion: apps/v1\nkind: Deploymnet\nmetadata:\n  name: a\n", ErrUnknownKind,
		[]string{"a.yaml, document 2, line 7: unknown kind: the server has no Deploymnet in apps/v1; write apiVersion: apps/v1, kind: Deployment"},
	},
	{
		"no name", "", "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {a: b}\n", ErrMissing,
		[]string{"a.yaml, document 1, line 3: missing field: metadata.name of this Pod; give it a name"},
	},
	{
		"no metadata", "", "apiVersion: v1\nkind: Pod\n", ErrMissing, []string{"metadata.name"},
	},
	{
		"generateName", "", "apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: a-\n", ErrMissing, []string{"generateName is not enough"},
	},
	{
		"a name that is a number", "", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: 123\n", ErrWrongType,
		[]string{"line 4: wrong type: ConfigMap field metadata.name is 123, which is not a text; write a text (put quotes around it)"},
	},
	{
		"a custom kind's name that is a number", "", "apiVersion: shop.example.com/v1\nkind: Teapot\nmetadata:\n  name: 123\n", ErrWrongType,
		[]string{"line 4: wrong type: metadata.name is 123"},
	},
	{
		"a custom kind's metadata that is a text", "", "apiVersion: shop.example.com/v1\nkind: Teapot\nmetadata: pot\n", ErrWrongType,
		[]string{"line 3: wrong type: metadata is the text"},
	},
	{
		"a name that is a path", "", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a/b\n", ErrBadName, []string{"line 4: bad name", "may not contain '/'"},
	},
	{
		"a namespace where none belongs", "", "apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  namespace: b\n", ErrBadName,
		[]string{"line 5: bad name: a Node belongs to no namespace"},
	},
	{
		"replicas in words", "", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  replicas: \"three\"\n", ErrWrongType,
		[]string{`a.yaml, document 1, line 6: wrong type: Deployment field spec.replicas is the text "three", which is not a whole number of 32 bits`},
	},
	{
		"a number without quotes among labels", "", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    app.kubernetes.io/version: 2\n",
		ErrWrongType, []string{`line 6: wrong type: ConfigMap field metadata.labels["app.kubernetes.io/version"] is 2`, "put quotes around it"},
	},
	{
		"a mapping instead of a list", "", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n    name: b\n", ErrWrongType,
		[]string{"line 6: wrong type: Pod field spec.containers is a mapping of fields, which is not a list"},
	},
	{
		"a quantity that is none", "",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: b\n  - name: c\n    resources:\n      limits:\n        memory: much\n",
		ErrWrongType, []string{`line 11: wrong type: Pod field spec.containers[1].resources.limits.memory is the text "much"`},
	},
	{
		"a time that is none", "", "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: a\nspec:\n  renewTime: now\n", ErrWrongType,
		[]string{`line 6: wrong type: Lease field spec.renewTime is the text "now"`},
	},
	{
		"an unknown field", "",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: b\n    imagee: x\n", ErrUnknownField,
		[]string{"line 8: unknown field: Pod field spec.containers[0].imagee does not exist; check its spelling"},
	},
	{
		"a field that is indented too little", "", "apiVersion: v1\nkind: ConfigMap\nmetadata:\nname: a\n", ErrUnknownField,
		[]string{"line 4: unknown field: ConfigMap field name does not exist"},
	},
	{
		"an unknown field in a JSON item", "a.json",
		"{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n {\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n  \"metadata\": {\"name\": \"a\"},\n  \"datta\": {}}]}",
		ErrUnknownField, []string{"a.json, document 1, item 1, line 4: unknown field: ConfigMap field datta"},
	},
	{
		"the second item of a list without a name", "",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {}\n",
		ErrMissing, []string{"a.yaml, document 1, item 2, line 9: missing field: metadata.name"},
	},
	{
		"an item that is a text", "", "apiVersion: v1\nkind: List\nitems:\n- pod\n", ErrWrongType, []string{"item 1, line 4", `this is the text "pod"`},
	},
	{
		"an object twice", "", goodConfigMap + "---\n" + goodConfigMap, ErrDuplicate,
		[]string{"a.yaml, document 2, line 6: duplicate object: ConfigMap default/good is already defined in a.yaml, document 1, line 1; "},
	},
	{
		"an object twice under two versions", "",
		"apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n",
		ErrDuplicate, []string{"a.yaml, document 2, line 5"},
	},
	{
		"a control character in a name", "", "apiVersion: v1\nkind: \"Pod\\e[31m\"\n", ErrUnknownKind, []string{"Pod\uFFFD[31m"},
	},
}

func TestEachBadManifestGivesOneErrorWithPlaceCauseAndRemedy(t *testing.T) {
	kinds := testKinds()
	for _, test := range badManifests {
		t.Run(test.name, func(t *testing.T) {
			name := test.file
			if name == "" {
				name = "a.yaml"
			}
			objects, err := Load(text(name, test.input), kinds)
			if objects != nil {
				t.Errorf("%d objects come with the error", len(objects))
			}
			checkError(t, err, test.kind, test.want...)
		})
	}
}

func checkError(t *testing.T, err, kind error, want ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want an error of kind %q", err, kind)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got  %v\nwant …%s…", err, part)
		}
	}
	if strings.Contains(err.Error(), "interface {}") {
		t.Errorf("a type of Go in it: %v", err)
	}
	if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "; ") {
		t.Errorf("not one line with a remedy: %q", err)
	}
}

func TestADuplicateInAnotherFileNamesBothFiles(t *testing.T) {
	files := append(text("a.yaml", goodConfigMap), text("sub/b.yaml", "\n"+goodConfigMap)...)
	_, err := Load(files, testKinds())
	checkError(t, err, ErrDuplicate, "sub/b.yaml, document 1, line 2", "a.yaml, document 1, line 1")
}

func TestObjectsComeInDependencyOrderAndOtherwiseAsWritten(t *testing.T) {
	input := `
%YAML 1.1
--- {apiVersion: v1, kind: Pod, metadata: {name: z}}
--- # a comment behind the marker
apiVersion: v1
kind: List
items:
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "system:reader"}}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
...
---
apiVersion: v1
kind: ConfigMapList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: page, namespace: shop}
  data:
    text: |
      above
      --- no marker
      below
---
{"apiVersion": "shop.example.com/v1", "kind": "Teapot", "metadata": {"name": "a"}, "size": 3}
`
	input = strings.ReplaceAll(strings.TrimPrefix(input, "\n"), "\n", "\r\n")
	objects, err := Load(text("a.yaml", "\uFEFF"+input), testKinds())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.String())
	}
	want := []string{"Namespace shop", "ClusterRole system:reader", "Pod default/z", "ConfigMap shop/page", "Teapot default/a"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	page, _, _ := unstructured.NestedString(objects[3].Content.Object, "data", "text")
	if page != "above\n--- no marker\nbelow\n" {
		t.Errorf("the text came out as %q", page)
	}
	if place := objects[3].Place; place.Document != 3 || place.Item != 1 || place.Line != 14 {
		t.Errorf("the config map is placed at %v", place)
	}
	if size := objects[4].Content.Object["size"]; size != int64(3) {
		t.Errorf("a whole number became %T", size)
	}
}

func TestTheExamplesOwnManifestsAreARealSmallApplication(t *testing.T) {
	files, err := Read(filepath.Join("..", "..", "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := Load(files, testKinds())
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, object := range objects {
		kinds[object.Mapping.GroupVersionKind.Kind] = true
	}
	if len(objects) < 45 || len(kinds) < 10 || len(files) < 5 {
		t.Errorf("%d objects of %d kinds in %d files", len(objects), len(kinds), len(files))
	}
}

func FuzzLoadNeverPanicsAndExplainsEachRefusal(f *testing.F) {
	for _, test := range badManifests {
		f.Add([]byte(test.input), strings.HasSuffix(test.file, ".json"))
	}
	entries, err := os.ReadDir(filepath.Join("..", "..", "manifests"))
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		if data, err := os.ReadFile(filepath.Join("..", "..", "manifests", entry.Name())); err == nil {
			f.Add(data, false)
		}
	}
	f.Add([]byte("\r \ra"), false)
	kinds := testKinds()
	f.Fuzz(func(t *testing.T, data []byte, asJSON bool) {
		name := "fuzz.yaml"
		if asJSON {
			name = "fuzz.json"
		}
		objects, err := Load([]File{{Name: name, Data: data}}, kinds)
		if err == nil {
			for _, object := range objects {
				if object.Content.GetName() == "" {
					t.Errorf("an object without a name was let through: %v", object.Content)
				}
			}
			return
		}
		fault, ok := errors.AsType[*Error](err)
		lines := 1 // as YAML ends them
		for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
			lines += strings.Count(string(data), end)
		}
		if !ok || fault.Kind == nil || fault.Fix == "" || fault.Place.File != name || fault.Place.Line > lines {
			t.Errorf("unexplained, or placed wrongly: %#v", err)
		}
	})
}
