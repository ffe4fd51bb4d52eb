package lint

import "testing"

func TestRealSleeps(t *testing.T) {
	const header, what = "package p\nimport \"time\"\n", "time.Sleep in real time in a test"
	test := func(body string) sources { return one("p/x_test.go", header+body) }
	checkRule(t, realSleeps, []ruleCase{
		{"a sleep", test("func f() { time.Sleep(1) }\n"), []string{"p/x_test.go:3: " + what}},
		{"a timer", test("func f() {\n\t<-time.After(1)\n\ttime.NewTimer(1)\n}\n"),
			[]string{"p/x_test.go:4: time.After in real time in a test", "p/x_test.go:5: time.NewTimer in real time in a test"}},
		{"a renamed import", one("p/x_test.go", "package p\nimport tm \"time\"\nfunc f() { <-tm.Tick(1) }\n"),
			[]string{"p/x_test.go:3: tm.Tick in real time in a test"}},
		{"in a bubble", test("func f() { synctest.Test(t, func() { g(func() { time.Sleep(1) }) }) }\n"), nil},
		{"in a spec's bubble", test("var _ = Describe(\"\", func() { bubble.It(\"\", func() { time.Sleep(1) }) })\n"), nil},
		{"in a spec without bubble", test("var _ = Describe(\"\", func() { It(\"\", func() { time.Sleep(1) }) })\n"), []string{"p/x_test.go:3: " + what}},
		{"in a helper that opens one", test("func in(f func()) { synctest.Test(t, f) }\nfunc f() { in(func() { time.Sleep(1) }) }\n"), nil},
		{"in a helper that opens none", test("func in(f func()) { f() }\nfunc f() { in(func() { time.Sleep(1) }) }\n"), []string{"p/x_test.go:4: " + what}},
		{"beside a bubble", test("func f() {\n\tsynctest.Test(t, g)\n\ttime.Sleep(1)\n}\n"), []string{"p/x_test.go:5: " + what}},
		{"in a marked helper", test("// wait waits.\n//\n// bubble: called by specs only\nfunc wait() { time.Sleep(1) }\n"), nil},
		{"in a method of a marked rig", test("// rig is.\n//\n// bubble: made in bubbles only\ntype rig[T any] struct{}\nfunc (r *rig[T]) f() { time.Sleep(1) }\n"), nil},
		{"in a method of another type", test("// rig is.\ntype rig struct{}\nfunc (r *rig) f() { time.Sleep(1) }\n"), []string{"p/x_test.go:5: " + what}},
		{"in a marked literal", test("func f() {\n\t//bubble: a field of the rig\n\tx = func() { time.Sleep(1) }\n}\n"), nil},
		{"in a helper marked without reason", test("// bubble:\nfunc wait() { time.Sleep(1) }\n"), []string{"p/x_test.go:4: " + what}},
		{"in the product", one("p/x.go", header+"func f() { time.Sleep(1) }\n"), nil},
		{"in a test kit", one("p/ptest/x.go", header+"func f() { time.Sleep(1) }\n"), []string{"p/ptest/x.go:3: " + what}},
		{"not package time", one("p/x_test.go", "package p\nfunc f() { time.Sleep(1) }\n"), nil},
	})
}

func TestBareGoroutines(t *testing.T) {
	const what = "a goroutine without an owner"
	checkRule(t, bareGoroutines, []ruleCase{
		{"a bare one", one("p/x.go", "package p\nfunc f() {\n\tgo g()\n}\n"), []string{"p/x.go:3: " + what}},
		{"one with a reason", one("p/x.go", "package p\nfunc f() {\n\t// worker: ends with the request\n\tgo g()\n}\n"), nil},
		{"one with a long reason", one("p/x.go", "package p\nfunc f() {\n\t// worker: ends with\n\t// the request\n\tgo g()\n}\n"), nil},
		{"one with a reason elsewhere", one("p/x.go", "package p\nfunc f() {\n\t// worker: ends\n\n\tgo g()\n}\n"), []string{"p/x.go:5: " + what}},
		{"one without reason", one("p/x.go", "package p\nfunc f() {\n\t//worker:\n\tgo g()\n}\n"), []string{"p/x.go:4: " + what}},
		{"in a test", one("p/x_test.go", "package p\nfunc f() { go g() }\n"), nil},
		{"in a test kit", one("p/ptest/x.go", "package ptest\nfunc f() { go g() }\n"), nil},
		{"in the owner itself", one("internal/worker/x.go", "package p\nfunc f() { go g() }\n"), nil},
		{"through the owner", one("p/x.go", "package p\nfunc f() { group.Go(\"feed\", g) }\n"), nil},
	})
}

func TestExportedLocked(t *testing.T) {
	checkRule(t, exportedLocked, []ruleCase{
		{"a method", one("p/x.go", "package p\nfunc (x T) GetLocked() {}\n"), []string{"p/x.go:2: exported GetLocked wants a lock held"}},
		{"in an interface", one("p/x.go", "package p\ntype I interface{ GetLocked() }\n"), []string{"p/x.go:2: exported GetLocked wants a lock held"}},
		{"a test", one("p/x_test.go", "package p\nfunc TestItIsLocked() {}\n"), nil},
		{"a private one", one("p/x.go", "package p\nfunc (x T) getLocked() {}\nfunc Unlocked() {}\n"), nil},
	})
}
