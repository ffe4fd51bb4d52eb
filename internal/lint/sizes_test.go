package lint

import "testing"

func TestLongFiles(t *testing.T) {
	checkRule(t, longFiles, []ruleCase{
		{"at the limit", one("p/x.go", "package p\n"+lines(499, "//")), nil},
		{"over it", one("p/x.go", "package p\n"+lines(500, "//")), []string{"p/x.go:501: the file has 501 lines, at most 500"}},
		{"a test at its limit", one("p/x_test.go", "package p\n"+lines(699, "//")), nil},
		{"a test over it", one("p/x_test.go", "package p\n"+lines(700, "//")), []string{"p/x_test.go:701: the file has 701 lines, at most 700"}},
	})
}

func TestLongFunctions(t *testing.T) {
	call, few, many := "\tf()", lines(58, "\tf()"), lines(59, "\tf()")
	checkRule(t, longFunctions, []ruleCase{
		{"at the limit", one("p/x.go", "package p\nfunc g() {\n"+few+"}\n"), nil},
		{"over it", one("p/x.go", "package p\nfunc g() {\n"+many+"}\n"), []string{"p/x.go:2: g has 61 lines, at most 60"}},
		{"a method in a test", one("p/x_test.go", "package p\nfunc (x T) g() {\n"+many+"}\n"), []string{"p/x_test.go:2: g has 61 lines, at most 60"}},
		{"a literal counts for its function", one("p/x.go", "package p\nfunc g() {\n\tgo func() {\n"+lines(57, call)+"\t}()\n}\n"),
			[]string{"p/x.go:2: g has 61 lines, at most 60"}},
		{"literals in a table", one("p/x_test.go", "package p\nfunc g() {\n\tt := []func(){func() {\n"+few+"\t}, func() {\n"+few+"\t}}\n\tf(t)\n}\n"), nil},
		{"a long literal in a table", one("p/x_test.go", "package p\nvar t = map[int]func(){\n\t1: func() {\n"+many+"\t},\n}\n"),
			[]string{"p/x_test.go:3: the function literal has 61 lines, at most 60"}},
		{"a container of specs", one("p/x_test.go", "package p\nvar _ = Describe(\"x\", func() {\n"+
			"\tIt(\"a\", func() {\n"+few+"\t})\n\tbubble.It(\"b\", func() {\n"+few+"\t})\n"+many+"})\n"), nil},
		{"a long spec", one("p/x_test.go", "package p\nvar _ = ginkgo.Describe(\"x\", func() {\n\tbubble.It(\"b\", func() {\n"+many+"\t})\n})\n"),
			[]string{"p/x_test.go:3: the function literal has 61 lines, at most 60"}},
		{"a method that is called like a container", one("p/x.go", "package p\nvar _ = x.Describe(\"x\", func() {\n"+many+"})\n"),
			[]string{"p/x.go:2: the function literal has 61 lines, at most 60"}},
	})
}

func TestManyParameters(t *testing.T) {
	const what = "6 parameters, at most 5"
	checkRule(t, manyParameters, []ruleCase{
		{"five and a receiver", one("p/x.go", "package p\nfunc (x T) g(a, b, c int, d string, e ...int) {}\n"), nil},
		{"six", one("p/x.go", "package p\nfunc g(a, b, c int, d string, e, f int) {}\n"), []string{"p/x.go:2: " + what}},
		{"six without names", one("p/x.go", "package p\ntype F func(int, int, int, int, int, int)\n"), []string{"p/x.go:2: " + what}},
		{"six that another has chosen", one("p/x.go", "package p\n\n// G is.\n//\n// signature: that of q.G\nfunc G(a, b, c int, d string, e, f int) {}\n"), nil},
		{"six for no reason", one("p/x.go", "package p\n\n// signature:\nfunc G(a, b, c int, d string, e, f int) {}\n"), []string{"p/x.go:4: " + what}},
		{"in an interface", one("p/x.go", "package p\ntype I interface {\n\tM(a, b, c, d, e, f int)\n}\n"), []string{"p/x.go:3: " + what}},
		{"in a literal", one("p/x_test.go", "package p\nvar f = func(a, b, c, d, e, f int) {}\n"), []string{"p/x_test.go:2: " + what}},
	})
}
