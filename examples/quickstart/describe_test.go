package main

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestWhatChangedIsBriefAndKeepsSecrets(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want string }{
		"a number":         {"{spec: {replicas: 2}}", "{spec: {replicas: 3}}", "spec.replicas 2 → 3"},
		"only bookkeeping": {"{metadata: {resourceVersion: '1', generation: 1}}", "{metadata: {resourceVersion: '2'}}", "nothing but its resourceVersion"},
		"a new map":        {"{}", "{metadata: {labels: {a: b}}}", `metadata.labels.a (none) → "b"`},
		"a map that went":  {"{metadata: {labels: {a: b}}}", "{}", `metadata.labels.a "b" → (none)`},
		"a dotted key":     {"{}", "{metadata: {labels: {example.com/a: b}}}", `metadata.labels["example.com/a"] (none) → "b"`},
		"a list":           {"{spec: {args: [a]}}", "{spec: {args: [a, b]}}", `spec.args ["a"] → ["a","b"]`},
		"another type":     {"{spec: {a: {b: c}}}", "{spec: {a: 1}}", `spec.a {"b":"c"} → 1`},
		"many":             {"{}", "{a: 1, b: 2, c: 3, d: 4}", "a (none) → 1, b (none) → 2 and 2 more"},
		"a long text":      {"{a: b}", "{a: '0123456789012345678901234567890123456789'}", `a "b" → "012345678901234567890123456789…`},
		"a secret":         {"{apiVersion: v1, kind: Secret, data: {p: eA==}}", "{apiVersion: v1, kind: Secret, data: {p: eQ==}}", "data.p (secret)"},
		"a steering text":  {"{a: b}", `{a: "x\e[31m", "k\e": 1}`, "a \"b\" → \"x\\u001b[31m\", k\uFFFD (none) → 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var versions [2]unstructured.Unstructured
			for i, text := range []string{test.before, test.after} {
				if err := yaml.Unmarshal([]byte(text), &versions[i].Object); err != nil {
					t.Fatal(err)
				}
			}
			if got := whatChanged(&versions[0], &versions[1]); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
