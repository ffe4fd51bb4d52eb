package lint

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// importRule forbids imports to packages. Names of ours begin with "./"; one
// that ends in "/..." means everything below, too.
type importRule struct {
	packages  []string
	except    []string // packages that the rule leaves alone
	forbidden []string
	inTests   bool // also in _test.go files
	notInKits bool // not in packages that exist for tests
	instead   string
}

var (
	clientHalf = []string{"./reflector/...", "./deltafifo/...", "./indexer/...", "./informer/..."}
	serverHalf = []string{"./fakeserver/..."}
	bothHalves = slices.Concat(clientHalf, serverHalf)
	everything = []string{"./..."}
)

var importRules = []importRule{
	{
		packages: clientHalf, forbidden: serverHalf,
		instead: "the halves share no code, or one bug would sit on both sides of a test; only tests and examples import both",
	}, {
		packages: serverHalf, forbidden: clientHalf,
		instead: "the server must not be fed by our own client; share apimachinery's vocabulary",
	}, {
		packages:  []string{"./fakeserver/storage/...", "./fakeserver/cacher/...", "./fakeserver/apiserver/..."},
		forbidden: clientHalf, inTests: true,
		instead: "test the server's inner packages without our client: call them, or use net/http and client-go",
	}, {
		packages: []string{"./internal/..."}, forbidden: bothHalves,
		instead: "internal is what both halves stand on; move the code to the half that needs it",
	}, {
		packages: everything, except: []string{"./examples/..."}, forbidden: []string{"./examples/..."}, inTests: true,
		instead: "examples are for readers; move shared code to a package of its own",
	}, {
		packages:  []string{"./fakeserver/storage/...", "./fakeserver/cacher/..."},
		forbidden: []string{"net/http", "net/http/...", "./fakeserver/apiserver/..."}, inTests: true,
		instead: "HTTP belongs to fakeserver/apiserver; pass plain values and contexts",
	}, {
		packages: []string{"./fakeserver/storage/..."}, forbidden: []string{"./fakeserver/cacher/..."}, inTests: true,
		instead: "the cacher stands on the storage, not the other way round",
	}, {
		packages: []string{"./deltafifo/...", "./indexer/..."}, forbidden: []string{"./reflector/...", "./informer/..."}, inTests: true,
		instead: "queue and cache know keys and values only; interfaces live with their consumer, adapters in informer",
	}, {
		// Their benchmarks compare with client-go in the same run.
		packages: []string{"./deltafifo/...", "./indexer/..."}, forbidden: []string{"k8s.io/client-go/..."},
		instead: "queue and cache know keys and values only; only their tests may import client-go, to compare with it",
	}, {
		packages: []string{"./reflector/..."}, forbidden: []string{"./deltafifo/...", "./indexer/...", "./informer/..."},
		instead: "the reflector writes to its own Sink interface; the adapter lives in informer",
	}, {
		packages: everything, inTests: true,
		forbidden: []string{"k8s.io/utils/clock/...", "k8s.io/apimachinery/pkg/util/clock/...", "github.com/benbjohnson/clock",
			"github.com/jonboulle/clockwork", "code.cloudfoundry.org/clock/..."},
		instead: "no injected clocks: use package time, and test in a bubble",
	}, {
		packages: everything, notInKits: true,
		forbidden: []string{"testing", "testing/...", "github.com/onsi/ginkgo/...", "github.com/onsi/gomega/...",
			"go.uber.org/goleak", "github.com/google/go-cmp/..."},
		instead: "test helpers belong in _test.go files, or in a package for tests whose name ends in test",
	},
}

// forbiddenImports applies importRules.
func forbiddenImports(p *Package) []Finding {
	var found []Finding
	for _, file := range p.Files {
		for _, spec := range file.AST.Imports {
			for _, rule := range importRules {
				if rule.forbids(p, file, importPathOf(spec)) {
					found = append(found, file.at(spec.Pos(), rule.instead, "%s imports %s", p.Dir, importPathOf(spec)))
				}
			}
		}
	}
	return found
}

func (r importRule) forbids(p *Package, file *File, imported string) bool {
	if file.isTest() && !r.inTests || p.isTesting() && r.notInKits {
		return false
	}
	self := path.Join(Module, p.Dir)
	return matchesAny(self, r.packages) && !matchesAny(self, r.except) && matchesAny(imported, r.forbidden)
}

func matchesAny(importPath string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if ours, ok := strings.CutPrefix(pattern, "."); ok {
			pattern = Module + ours
		}
		parent, tree := strings.CutSuffix(pattern, "/...")
		return importPath == parent || tree && strings.HasPrefix(importPath, parent+"/")
	})
}

// mixedHalves finds packages that import both halves outside of tests and are
// not made to show or compare them.
func mixedHalves(p *Package) []Finding {
	if inside(p.Dir, "examples", "conformance", "bench") {
		return nil
	}
	var client, server *ast.ImportSpec
	var where *File
	for _, file := range p.Files {
		if file.isTest() {
			continue
		}
		for _, spec := range file.AST.Imports {
			switch imported := importPathOf(spec); {
			case matchesAny(imported, clientHalf):
				client, where = spec, file
			case matchesAny(imported, serverHalf):
				server, where = spec, file
			}
		}
	}
	if client == nil || server == nil {
		return nil
	}
	return []Finding{where.at(where.AST.Package, "only _test.go files, examples, conformance and bench may import both",
		"%s imports both halves", p.Dir)}
}

// injectedClocks finds fields and variables that hold a function like time.Now.
func injectedClocks(p *Package) []Finding {
	var found []Finding
	for _, file := range p.Files {
		timeName := file.importName("time")
		ast.Inspect(file.AST, func(n ast.Node) bool {
			var types []ast.Expr
			switch n := n.(type) {
			case *ast.Field:
				types = append(types, n.Type)
			case *ast.ValueSpec:
				types = append(append(types, n.Type), n.Values...)
			}
			for _, t := range types {
				if timeName != "" && isClock(t, timeName) {
					found = append(found, file.at(t.Pos(), "no injected clocks: call time.Now, and test in a bubble", "a clock as a value"))
				}
			}
			return true
		})
	}
	return found
}

// isClock reports whether an expression is the type func() time.Time or the
// value time.Now.
func isClock(e ast.Expr, timeName string) bool {
	selects := func(e ast.Expr, name string) bool {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Name == timeName && s.Sel.Name == name
	}
	f, ok := e.(*ast.FuncType)
	if !ok {
		return selects(e, "Now")
	}
	return f.Params.NumFields() == 0 && f.Results.NumFields() == 1 && selects(f.Results.List[0].Type, "Time")
}
