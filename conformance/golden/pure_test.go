package golden

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustDecode(t *testing.T, text string) any {
	t.Helper()
	value, err := decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestPathsLeadToValues(t *testing.T) {
	const whole = `{"a":{"b":[{"n":"x","v":1},{"n":"y","v":2}],"c.d/e":"q"},"v":3}`
	for where, want := range map[string]string{
		"":                `[` + whole + `]`,
		"a.b[0].v":        `[1]`,
		"a.b[*].v":        `[1,2]`,
		"a.b.*.v":         `[1,2]`,
		"a.b[n=y].v":      `[2]`,
		"a.b[v=2].n":      `["y"]`,
		`a["c.d/e"]`:      `["q"]`,
		"**.v":            `[1,2,3]`,
		"a.**.v":          `[1,2]`,
		"*.b[1].n":        `["y"]`,
		"a.b[2].v":        `[]`,
		"a.missing":       `[]`,
		"v.deeper":        `[]`,
		"a.b[n=z].v":      `[]`,
		"a.b[missing=].v": `[]`,
	} {
		parsed, err := parsePath(where)
		if err != nil {
			t.Errorf("%q: %v", where, err)
			continue
		}
		found := parsed.find(mustDecode(t, whole))
		if got := encode(found); got != want && !(want == "[]" && len(found) == 0) {
			t.Errorf("%q found %s, want %s", where, got, want)
		}
	}
}

func TestBrokenPathsAreErrors(t *testing.T) {
	for _, where := range []string{".a", "a..b", "a.", "a[", "a[x]", "a[-1]", `a["b`, "a[]", "[", `["]`} {
		if _, err := parsePath(where); !errors.Is(err, ErrPath) {
			t.Errorf("%q: want ErrPath, got %v", where, err)
		}
	}
}

// step with rules, for adapt.
func rules(t *testing.T, step string) adapter {
	t.Helper()
	s, err := Parse([]byte(`{"name":"n","area":"a","steps":[{"method":"GET","path":"/"` + step + `}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return newAdapter(s, &s.Steps[0], false)
}

func TestRulesAdaptAnswers(t *testing.T) {
	for _, test := range []struct{ name, rules, value, want string }{
		{"ignore removes", `,"ignore":[{"path":"**.x"}]`, `{"x":1,"y":{"x":2,"z":3}}`, `{"y":{"z":3}}`},
		{"ignore removes an element", `,"ignore":[{"path":"l[1]"}]`, `{"l":[1,2,3]}`, `{"l":[1,3]}`},
		{"ignore leaves a Status alone", `,"ignore":[{"path":"x"}]`, `{"kind":"Status","x":1}`, `{"kind":"Status","x":1}`},
		{"any replaces what is there", `,"any":[{"path":"x"},{"path":"y"}]`, `{"x":{"deep":1}}`, `{"x":"<any>"}`},
		{"any replaces the whole", `,"any":[{"path":""}]`, `{"x":1}`, `"<any>"`},
		{"mask hides in strings", `,"mask":[{"path":"**","regex":"a(b+)","with":"$1!"}]`, `{"x":"abbc","n":1,"l":["ab"]}`, `{"x":"bb!c","n":1,"l":["b!"]}`},
		{"mask hides only there", `,"mask":[{"path":"x","regex":"a","with":"b"}]`, `{"x":"a","y":"a"}`, `{"x":"b","y":"a"}`},
		{"pick keeps elements", `,"pick":[{"path":"l","key":"n","values":["b"]}]`, `{"l":[{"n":"a"},{"n":"b"},{},1]}`, `{"l":[{"n":"b"}]}`},
		{"pick keeps plain elements", `,"pick":[{"path":"l","values":["b"]}]`, `{"l":["a","b"]}`, `{"l":["b"]}`},
		{"pick keeps keys", `,"pick":[{"path":"","values":["b"]}]`, `{"a":1,"b":2}`, `{"b":2}`},
		{"pick comes before any", `,"pick":[{"path":"l","values":["a"]}],"any":[{"path":"l[0]"}]`, `{"l":["b","a"]}`, `{"l":["<any>"]}`},
		{"ignore comes before mask", `,"ignore":[{"path":"x"}],"mask":[{"path":"**","regex":".*","with":"m"}]`, `{"x":"a","y":"b"}`, `{"y":"m"}`},
	} {
		value := rules(t, test.rules).adapt(mustDecode(t, test.value))
		if diff := cmp.Diff(mustDecode(t, test.want), value); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestScenarioRulesHoldUnlessTheStepIsFull(t *testing.T) {
	for step, want := range map[string]string{``: `{"y":2}`, `,"full":true`: `{"x":1,"y":2}`, `,"full":true,"ignore":[{"path":"y"}]`: `{"x":1}`} {
		s, err := Parse([]byte(`{"name":"n","area":"a","ignore":[{"path":"x"}],"steps":[{"method":"GET","path":"/"` + step + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got := newAdapter(s, &s.Steps[0], false).adapt(mustDecode(t, `{"x":1,"y":2}`))
		if diff := cmp.Diff(mustDecode(t, want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
}

func TestAnswersAreNormalised(t *testing.T) {
	token := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, test := range []struct{ name, value, want string }{
		{"continue token", `{"metadata":{"continue":"` + token(`{"v":"v1","rv":12,"start":"/a\u0000"}`) + `"}}`,
			`{"metadata":{"continue":{"$continue":{"v":"v1","rv":"12","start":"a\u0000"}}}}`},
		{"continue token without slash", `{"metadata":{"continue":"` + token(`{"v":"v1","rv":-1,"start":"a"}`) + `"}}`,
			`{"metadata":{"continue":{"$continue":{"v":"v1","rv":"-1","start":"a"}}}}`},
		{"continue that is no token", `{"metadata":{"continue":"!"}}`, `{"metadata":{"continue":"!"}}`},
		{"managedFields", `{"metadata":{"managedFields":[{"operation":"Update","manager":"b","time":"t"},{"operation":"Update","manager":"a"},
			{"operation":"Apply","manager":"z","subresource":"status"},{"operation":"Apply","manager":"z"}]}}`,
			`{"metadata":{"managedFields":[{"operation":"Apply","manager":"z"},{"operation":"Apply","manager":"z","subresource":"status"},
			{"operation":"Update","manager":"a"},{"operation":"Update","manager":"b"}]}}`},
		{"scheme", `{"message":"no kind in scheme \"pkg/x.go:1\" is"}`, `{"message":"no kind in scheme \"<scheme>\" is"}`},
		{"whole object", `{"message":"Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\"}\": bad"}`, `{"message":"Invalid value: \"<object>\": bad"}`},
		{"another value", `{"message":"Invalid value: \"{}\": bad"}`, `{"message":"Invalid value: \"{}\": bad"}`},
	} {
		if diff := cmp.Diff(mustDecode(t, test.want), normalise(mustDecode(t, test.value))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestSymbolsMatchValuesOfTheirForm(t *testing.T) {
	const uid = "12345678-1234-1234-1234-123456789abc"
	for _, test := range []struct {
		want, got string
		match     bool
	}{
		{"<uid:1>", uid, true},
		{"record (<uid:1>).", "record (" + uid + ").", true},
		{"<uid:1>", "no uid", false},
		{"<rv:1>", "12", true},
		{"<rv:1>", "012a", false},
		{"<rv:1+>", "12", true},
		{"version: <rv:any> (<rv:2>)", "version: 1 (2)", true},
		{"<rv:any>", "", false},
		{"<time>", "2020-01-02T03:04:05Z", true},
		{"<time>", "2020-01-02T03:04:05.1Z", false},
		{"<time>", "2020-01-02T03:04:05+01:00", false},
		{"<microtime>", "2020-01-02T03:04:05.000001Z", true},
		{"<microtime>", "2020-01-02T03:04:05Z", false},
		{"<age>", "5s", true},
		{"<age>", "2m3s", true},
		{"<age>", "<unknown>", false},
		{"x-<rand:1>", "x-ab1c2", true},
		{"x-<rand:1>", "x-ab1c", false},
		{"<none>", "<none>", true},
		{"<none>", "x", false},
		{"a.c <rv:any>", "abc 1", false},
	} {
		if _, ok := matchSymbols(test.want, test.got); ok != test.match {
			t.Errorf("%q against %q: got %v", test.got, test.want, ok)
		}
	}
}

func TestSymbolsAreBoundOverAScenario(t *testing.T) {
	o := func(kind string, n int, plus bool, value string) observation {
		return observation{kind: kind, n: n, plus: plus, value: value, path: "p"}
	}
	for _, test := range []struct {
		name    string
		seen    []observation // one step each
		failing []int
	}{
		{"the same value again", []observation{o("uid", 1, false, "a"), o("uid", 1, false, "a")}, nil},
		{"another value", []observation{o("uid", 1, false, "a"), o("uid", 1, false, "b")}, []int{1}},
		{"one value for two symbols", []observation{o("rand", 1, false, "a"), o("rand", 2, false, "a")}, []int{1}},
		{"versions in order", []observation{o("rv", 2, false, "100"), o("rv", 1, false, "99"), o("rv", 3, false, "101")}, nil},
		{"versions out of order", []observation{o("rv", 1, false, "100"), o("rv", 2, false, "99")}, []int{1}},
		{"at the version", []observation{o("rv", 1, false, "5"), o("rv", 1, true, "5"), o("rv", 2, false, "6")}, nil},
		{"before the version", []observation{o("rv", 1, false, "5"), o("rv", 1, true, "4")}, []int{1}},
		{"at the next version, seen later", []observation{o("rv", 1, true, "6"), o("rv", 1, false, "5"), o("rv", 2, false, "6")}, []int{0}},
		{"before the first", []observation{o("rv", 0, true, "4"), o("rv", 1, false, "5")}, nil},
		{"not before the first", []observation{o("rv", 0, true, "5"), o("rv", 1, false, "5")}, []int{0}},
		{"against the nearest known", []observation{o("rv", 3, true, "4"), o("rv", 1, false, "5"), o("rv", 9, false, "20")}, []int{0}},
	} {
		var steps []*comparison
		for _, seen := range test.seen {
			steps = append(steps, &comparison{seen: []observation{seen}})
		}
		resolve(steps)
		var failing []int
		for i, step := range steps {
			if len(step.differences) > 0 {
				failing = append(failing, i)
			}
		}
		if diff := cmp.Diff(test.failing, failing); diff != "" {
			t.Errorf("%s (-want +got failing steps):\n%s", test.name, diff)
		}
	}
}

func TestAWrongAnswerDoesNotSpoilRightOnes(t *testing.T) {
	wrong := &comparison{seen: []observation{{kind: "uid", n: 1, value: "a"}}}
	wrong.differ("status", "wrong")
	right := &comparison{seen: []observation{{kind: "uid", n: 1, value: "b"}}}
	resolve([]*comparison{wrong, right})
	if len(right.differences) > 0 {
		t.Errorf("the right step was blamed: %v", right.differences)
	}
}

func TestTemplatesExpand(t *testing.T) {
	v := variables{"ns": "n1", "rv": "41", "o": map[string]any{"k": "v"}, "q": `a"b`}
	for text, want := range map[string]string{
		"/x/{{ns}}/y?rv={{rv}}":   "/x/n1/y?rv=41",
		"{{add:rv:1}}":            "42",
		"{{add:rv:-2}}":           "39",
		"{{add:7:1}}":             "8",
		"{{repeat:3:ab}}":         "ababab",
		"{{repeat:0:ab}}":         "",
		"{{o}}":                   `{"k":"v"}`,
		"{{q}}":                   `a"b`,
		`{"a":{{"b":1}}`:          `{"a":{{"b":1}}`,
		"{{ns":                    "{{ns",
		"{{token:rv:a}}":          base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":41,"start":"a"}`)),
		"{{token:5:ns/a}}/{{ns}}": base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":5,"start":"ns/a"}`)) + "/n1",
	} {
		if got, err := v.expand(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	if got, err := v.expandJSON(`{"a":"{{q}}","r":"{{repeat:2:\"}}"}`); err != nil || got != `{"a":"a\"b","r":"\"\""}` {
		t.Errorf("in JSON: got %s, %v", got, err)
	}
	for _, text := range []string{"{{missing}}", "{{add:ns:1}}", "{{add:rv:x}}", "{{repeat:x:y}}", "{{repeat:-1:y}}", "{{token:ns:a}}",
		"{{what:1}}", "{{repeat:99999999999:a}}", strings.Repeat("{{repeat:1000000:0123456789}}", 3)} {
		if _, err := v.expand(text); !errors.Is(err, ErrTemplate) {
			t.Errorf("%.40q: want ErrTemplate, got %v", text, err)
		}
	}
}

func TestMergePatchesChangeValues(t *testing.T) {
	for _, test := range [][3]string{
		{`{"a":1,"b":{"c":2,"d":3}}`, `{"a":null,"b":{"c":4}}`, `{"b":{"c":4,"d":3}}`},
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		{`{"a":"x"}`, `{"a":{"b":{"c":1,"d":null}}}`, `{"a":{"b":{"c":1}}}`},
		{`1`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `2`, `2`},
	} {
		if diff := cmp.Diff(mustDecode(t, test[2]), merge(mustDecode(t, test[0]), mustDecode(t, test[1]))); diff != "" {
			t.Errorf("%s with %s (-want +got):\n%s", test[0], test[1], diff)
		}
	}
}

func FuzzScenariosAndTemplates(f *testing.F) {
	f.Add([]byte(`{"name":"n","area":"a","steps":[{"method":"GET","path":"/{{ns}}?c={{token:rv:a}}","body":{"a":"{{repeat:3:x}}{{add:rv:1}}"},
		"ignore":[{"path":"**.a[x=y][\"q\"][*][0]"}],"mask":[{"path":"","regex":"a","with":"$1"}],"expect":{"status":200,"body":{"m":"<rv:1+>"}}}]}`))
	f.Add([]byte(`{"name":"n","area":"a","steps":[{"collect":"w","stream":{"events":2},"expect":{"events":[{"type":"ADDED","object":{}}],"end":"open"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrScenario) {
				t.Fatalf("want ErrScenario, got %v", err)
			}
			return
		}
		v := variables{"ns": "n", "rv": "5", "o": map[string]any{"a": "b"}}
		for i := range s.Steps {
			step := &s.Steps[i]
			if _, err := v.expand(step.Path); err != nil && !errors.Is(err, ErrTemplate) {
				t.Fatalf("want ErrTemplate, got %v", err)
			}
			if body, ok, err := step.body(v); err == nil && ok && len(step.Body) > 0 {
				if _, err := decode([]byte(body)); err != nil && len(body) < 1000 && !strings.Contains(string(step.Body), "{{repeat") {
					t.Fatalf("%s became %s: %v", step.Body, body, err)
				}
			}
			if step.Expect != nil {
				a := newAdapter(s, step, true)
				if want, err := step.Expect.recorded(a); err == nil {
					compare(want, want)
				}
			}
		}
	})
}
