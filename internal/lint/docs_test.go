package lint

import "testing"

func TestMissingPackageDoc(t *testing.T) {
	checkRule(t, missingPackageDoc, []ruleCase{
		{"no doc.go", sources{"p/x.go": "// Package p has no goroutines.\npackage p\n"}, []string{"p/x.go:2: package p has no doc.go"}},
		{"no comment", sources{"p/doc.go": "package p\n"}, []string{"p/doc.go:1: doc.go has no package comment"}},
		{"no count", sources{"p/doc.go": "// Package p is.\npackage p\n"}, []string{"p/doc.go:2: the package comment does not count the goroutines"}},
		{"all of it", sources{"p/doc.go": "// Package p is. Goroutines: none.\npackage p\n", "p/x.go": "package p\n"}, nil},
		{"only tests", sources{"p/x_test.go": "package p\n"}, nil},
		{"a program without comment", sources{"cmd/x/main.go": "package main\n"}, []string{"cmd/x/main.go:1: the program has no package comment"}},
		{"a program", sources{"cmd/x/main.go": "// Command x is.\npackage main\n"}, nil},
	})
}

func TestMissingDocs(t *testing.T) {
	file := func(source string) sources { return one("p/x.go", "package p\n"+source) }
	missing := func(names ...string) (want []string) {
		for _, name := range names {
			want = append(want, "p/x.go:2: "+name)
		}
		return want
	}
	checkRule(t, missingDocs, []ruleCase{
		{"a function", file("func F() {}\n"), missing("F has no doc comment")},
		{"a method", file("func (x *T[A, b]) M() {}\n"), missing("M has no doc comment")},
		{"a private type's method", file("func (x *t[A]) M() {}\n"), nil},
		{"a type", file("type T int\n"), missing("T has no doc comment")},
		{"variables", file("var A, B, c int\n"), missing("A has no doc comment", "B has no doc comment")},
		{"a field of options", file("type QueueOptions struct{ Max int }\n"), missing("QueueOptions has no doc comment", "QueueOptions.Max has no comment")},
		{"a method of an interface", file("type I interface{ M() }\n"), missing("I has no doc comment", "I.M has no comment")},
		{"all of it", file("// F is.\nfunc F() {}\n// T is.\ntype T struct{ Plain int }\n// All are.\nvar (\n\tA int\n\tB int\n)\n" +
			"const C = 1 // is\n// Options are, Max above all.\ntype Options struct {\n\tMax int\n\tMin int // is\n\tprivate int\n}\n"), nil},
		{"nothing exported", file("func f() {}\ntype t struct{ A int }\n"), nil},
		{"an internal package", one("a/internal/b/x.go", "package b\nfunc F() {}\n"), nil},
		{"a program", one("cmd/x/main.go", "package main\nfunc F() {}\n"), nil},
		{"a test", one("p/x_test.go", "package p\nfunc F() {}\n"), nil},
	})
}

func TestMissingExample(t *testing.T) {
	with := func(example string) sources {
		return sources{"p/x.go": "package p\nfunc F() {}\n", "p/x_test.go": "package p_test\nimport \"fmt\"\n" + example}
	}
	missing := []string{"p/x.go:2: package p has no example whose output is checked"}
	checkRule(t, missingExample, []ruleCase{
		{"no test", one("p/x.go", "package p\nfunc F() {}\n"), missing},
		{"no example", with("func TestF() { fmt.Println() }\n"), missing},
		{"an example that is not run", with("func Example() { fmt.Println(1) }\n"), missing},
		{"an example that is checked", with("func ExampleF() {\n\tfmt.Println(1)\n\t// Output: 1\n}\n"), nil},
		{"an example that prints nothing", with("func Example() {\n\tfmt.Print()\n\t// Output:\n}\n"), nil},
		{"nothing to call", one("p/doc.go", "package p\nfunc f() {}\nfunc (T) M() {}\n"), nil},
		{"for tests", one("ptest/x.go", "package ptest\nimport \"testing\"\nfunc F(t *testing.T, n int) {}\n"), nil},
		{"for tests, and more", one("ptest/x.go", "package ptest\nimport \"testing\"\nfunc F(t *testing.T) {}\nfunc G() {}\n"),
			[]string{"ptest/x.go:4: package ptest has no example whose output is checked"}},
		{"an internal package", one("a/internal/b/x.go", "package b\nfunc F() {}\n"), nil},
		{"a program", one("cmd/x/main.go", "package main\nfunc F() {}\n"), nil},
	})
}
