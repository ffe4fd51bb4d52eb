package lint

import "testing"

func TestMissingLeakCheck(t *testing.T) {
	const what = "the tests of p do not check for leaked goroutines"
	test := func(source string) sources {
		return sources{"p/a_test.go": "package p\n", "p/b_test.go": "package p\n" + source}
	}
	checkRule(t, missingLeakCheck, []ruleCase{
		{"no TestMain", test(""), []string{"p/a_test.go:1: " + what}},
		{"TestMain without check", test("func TestMain(m *testing.M) { m.Run() }\n"), []string{"p/a_test.go:1: " + what}},
		{"a method of that name", test("func (x T) TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\n"), []string{"p/a_test.go:1: " + what}},
		{"goleak", test("func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\n"), nil},
		{"bubble", test("func TestMain(m *testing.M) {\n\tprepare()\n\tbubble.VerifyTestMain(m)\n}\n"), nil},
		{"goleak beside a suite", test("func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\nfunc TestX(t *testing.T) { bubble.RunSpecs(t, \"x\") }\n"),
			[]string{"p/a_test.go:1: " + what}},
		{"bubble beside a suite", test("func TestMain(m *testing.M) { bubble.VerifyTestMain(m) }\nfunc TestX(t *testing.T) { bubble.RunSpecs(t, \"x\") }\n"), nil},
		{"no tests", one("p/x.go", "package p\n"), nil},
	})
}

func TestSkippedTests(t *testing.T) {
	const what = "a test that is skipped without an issue number"
	body := func(source string) sources { return one("p/x_test.go", "package p\nfunc f() {\n"+source+"\n}\n") }
	checkRule(t, skippedTests, []ruleCase{
		{"without a reason", body("\tt.Skip()"), []string{"p/x_test.go:3: " + what}},
		{"with another reason", body("\tt.Skipf(\"slow %d\", 1)"), []string{"p/x_test.go:3: " + what}},
		{"with a number", body("\tt.Skip(\"flaky, see #12\")"), nil},
		{"with a number above", body("\t// waits for #12\n\tt.SkipNow()"), nil},
		{"with a number beside", body("\tt.SkipNow() // #12"), nil},
		{"ginkgo's", body("\tSkip(\"later\")\n\tPIt(\"x\", f)\n\tbubble.It(\"y\", f, Pending)\n\tIt(\"z\", f, ginkgo.Pending)"),
			[]string{"p/x_test.go:3: " + what, "p/x_test.go:4: " + what, "p/x_test.go:5: " + what, "p/x_test.go:6: " + what}},
		{"ginkgo's with a number", body("\tPIt(\"#7: x\", f)"), nil},
		{"the input of a fuzz target", one("p/x_test.go", "package p\nfunc FuzzX(f *testing.F) { f.Fuzz(func(t *testing.T) { t.Skip() }) }\n"), nil},
		{"in the product", one("p/x.go", "package p\nfunc f() { reader.Skip() }\n"), nil},
	})
}
