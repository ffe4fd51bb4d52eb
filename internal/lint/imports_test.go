package lint

import "testing"

func TestImportsBetweenTheHalves(t *testing.T) {
	checkRule(t, forbiddenImports, []ruleCase{{
		name:  "client imports server",
		files: one("informer/x.go", importing("./fakeserver/storage", "fmt")),
		want:  []string{"informer/x.go:2: informer imports " + Module + "/fakeserver/storage"},
	}, {
		name:  "client's test imports server",
		files: one("informer/x_test.go", importing("./fakeserver")),
	}, {
		name:  "client's test kit imports server",
		files: one("informer/informertest/x.go", importing("./fakeserver")),
		want:  []string{"informer/informertest/x.go:2: informer/informertest imports " + Module + "/fakeserver"},
	}, {
		name:  "server imports client",
		files: one("fakeserver/x.go", importing("context", "./reflector")),
		want:  []string{"fakeserver/x.go:3: fakeserver imports " + Module + "/reflector"},
	}, {
		name:  "server's outer test imports client",
		files: one("fakeserver/x_test.go", importing("./reflector", "github.com/onsi/gomega")),
	}, {
		name:  "server's inner test imports client",
		files: one("fakeserver/cacher/x_test.go", importing("./reflector")),
		want:  []string{"fakeserver/cacher/x_test.go:2: fakeserver/cacher imports " + Module + "/reflector"},
	}, {
		name:  "a name that only begins alike",
		files: one("informer/x.go", importing("./fakeservers", "net/https")),
	}, {
		name:  "internal imports a half",
		files: one("internal/x/x.go", importing("./indexer")),
		want:  []string{"internal/x/x.go:2: internal/x imports " + Module + "/indexer"},
	}, {
		name:  "examples are imported",
		files: sources{"fakeserver/x_test.go": importing("./examples/quickstart"), "fakeserver/y.go": importing("./internal/worker")},
		want:  []string{"fakeserver/x_test.go:2: fakeserver imports " + Module + "/examples/quickstart"},
	}, {
		name:  "an example imports its own package and both halves",
		files: one("examples/quickstart/main.go", importing("./examples/quickstart/internal/x", "./fakeserver", "./informer")),
	}})
}

func TestImportsOfInnerPackages(t *testing.T) {
	checkRule(t, forbiddenImports, []ruleCase{{
		name:  "HTTP in storage and cacher",
		files: one("fakeserver/storage/storagetest/x.go", importing("net/http/httptest", "./fakeserver/storage", "testing")),
		want:  []string{"fakeserver/storage/storagetest/x.go:2: fakeserver/storage/storagetest imports net/http/httptest"},
	}, {
		name:  "HTTP in apiserver",
		files: one("fakeserver/apiserver/x.go", importing("net/http", "./fakeserver/cacher", "./fakeserver/storage")),
	}, {
		name:  "storage stands on the cacher",
		files: one("fakeserver/storage/x.go", importing("./fakeserver/cacher")),
		want:  []string{"fakeserver/storage/x.go:2: fakeserver/storage imports " + Module + "/fakeserver/cacher"},
	}, {
		name:  "queue knows client-go",
		files: one("deltafifo/x.go", importing("k8s.io/client-go/tools/cache", "k8s.io/apimachinery/pkg/watch")),
		want:  []string{"deltafifo/x.go:2: deltafifo imports k8s.io/client-go/tools/cache"},
	}, {
		name:  "reflector knows the queue",
		files: one("reflector/x.go", importing("k8s.io/client-go/rest", "./deltafifo")),
		want:  []string{"reflector/x.go:3: reflector imports " + Module + "/deltafifo"},
	}, {
		name:  "a clock to inject",
		files: one("informer/x_test.go", importing("k8s.io/utils/clock/testing", "k8s.io/utils/ptr")),
		want:  []string{"informer/x_test.go:2: informer imports k8s.io/utils/clock/testing"},
	}, {
		name:  "test helpers in the product",
		files: one("informer/x.go", importing("testing/synctest", "go.uber.org/goleak")),
		want:  []string{"informer/x.go:2: informer imports testing/synctest", "informer/x.go:3: informer imports go.uber.org/goleak"},
	}, {
		name:  "test helpers where they belong",
		files: sources{"internal/bubble/x.go": importing("github.com/onsi/ginkgo/v2"), "internal/bubble/x_test.go": importing("testing")},
	}})
}

func TestMixedHalves(t *testing.T) {
	const what = " imports both halves"
	checkRule(t, mixedHalves, []ruleCase{
		{"in one file", one("tool/x.go", importing("./fakeserver", "./indexer")), []string{"tool/x.go:1: tool" + what}},
		{"in two files", sources{"tool/x.go": importing("./fakeserver"), "tool/y.go": importing("./indexer")}, []string{"tool/y.go:1: tool" + what}},
		{"in a test", sources{"tool/x.go": importing("./fakeserver"), "tool/x_test.go": importing("./indexer")}, nil},
		{"in an example", one("examples/a/x.go", importing("./fakeserver", "./indexer")), nil},
		{"in a benchmark module", one("bench/x.go", importing("./fakeserver", "./indexer")), nil},
		{"one half only", one("tool/x.go", importing("./reflector", "./indexer")), nil},
	})
}

func TestInjectedClocks(t *testing.T) {
	const header = "package p\nimport \"time\"\n"
	checkRule(t, injectedClocks, []ruleCase{
		{"a field", one("p/x.go", header+"type T struct {\n\tnow func() time.Time\n}\n"), []string{"p/x.go:4: a clock as a value"}},
		{"a parameter", one("p/x.go", header+"func F(now func() time.Time) {}\n"), []string{"p/x.go:3: a clock as a value"}},
		{"a variable", one("p/x.go", header+"var now = time.Now\n"), []string{"p/x.go:3: a clock as a value"}},
		{"a renamed import", one("p/x.go", "package p\nimport t \"time\"\nvar now = t.Now\n"), []string{"p/x.go:3: a clock as a value"}},
		{"a time", one("p/x.go", header+"type T struct{ at time.Time }\nvar start = time.Now()\n"), nil},
		{"another function", one("p/x.go", header+"type T struct {\n\ttimeOf func(string) time.Time\n\tlast func() time.Duration\n}\n"), nil},
	})
}
