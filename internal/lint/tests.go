package lint

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// missingLeakCheck finds packages whose tests do not look for leaked goroutines.
func missingLeakCheck(p *Package) []Finding {
	var first *File
	var suite, checked, checkedSuite bool // goleak alone takes a goroutine of ginkgo for a leak
	for _, file := range p.Files {
		if !file.isTest() {
			continue
		}
		if first == nil {
			first = file
		}
		suite = suite || calls(file.AST, "bubble", "RunSpecs")
		checked = checked || checksLeaks(file, "goleak")
		checkedSuite = checkedSuite || checksLeaks(file, "bubble")
	}
	if first == nil || checkedSuite || checked && !suite {
		return nil
	}
	return []Finding{first.at(first.AST.Package, "add func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }, "+
		"with bubble instead of goleak beside a ginkgo suite", "the tests of %s do not check for leaked goroutines", p.Dir)}
}

// checksLeaks reports whether the file has a TestMain that calls VerifyTestMain
// of a package.
func checksLeaks(file *File, by string) bool {
	return slices.ContainsFunc(file.AST.Decls, func(declaration ast.Decl) bool {
		f, ok := declaration.(*ast.FuncDecl)
		return ok && f.Name.Name == "TestMain" && f.Recv == nil && calls(f, by, "VerifyTestMain")
	})
}

// calls reports whether a function of a package is called somewhere in a tree.
func calls(tree ast.Node, qualifier, name string) bool {
	found := false
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			q, f := called(call)
			found = found || q == qualifier && f == name
		}
		return !found
	})
	return found
}

// issueNumber is what a skipped test must name.
var issueNumber = regexp.MustCompile(`#\d+`)

// skips are the calls that leave a test out; ginkgoSkips those without a receiver.
var (
	skips       = []string{"Skip", "Skipf", "SkipNow"}
	ginkgoSkips = []string{"Skip", "PIt", "XIt", "PDescribe", "XDescribe", "PContext", "XContext", "PWhen", "XWhen", "PEntry", "XEntry",
		"PDescribeTable", "XDescribeTable"}
)

// skippedTests finds tests that are left out without an issue number in the
// call or in a comment above it or beside it. Fuzz targets may skip inputs.
func skippedTests(p *Package) []Finding {
	var found []Finding
	for _, file := range p.Files {
		if !file.isTest() {
			continue
		}
		excused := commentLines(file, issueNumber)
		ast.Inspect(file.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return !strings.HasPrefix(n.Name.Name, "Fuzz")
			case *ast.CallExpr:
				if skipping(n) && !slices.ContainsFunc(excused, func(line int) bool {
					return line == file.line(n.Pos()) || line == file.line(n.Pos())-1
				}) {
					found = append(found, file.at(n.Pos(), "make it pass or delete it; if it waits for something, name the issue (#123)",
						"a test that is skipped without an issue number"))
				}
			}
			return true
		})
	}
	return found
}

// skipping reports whether a call leaves out a test and does not say for which
// issue.
func skipping(call *ast.CallExpr) bool {
	qualifier, name := called(call)
	left := slices.Contains(skips, name)
	if qualifier == "." || qualifier == "ginkgo" {
		left = slices.Contains(ginkgoSkips, name)
	}
	for _, arg := range call.Args {
		if isPending(arg) {
			left = true
		}
		if text, ok := arg.(*ast.BasicLit); ok && issueNumber.MatchString(text.Value) {
			return false
		}
	}
	return left
}

// isPending reports whether an argument is ginkgo's decorator for specs that
// are not run.
func isPending(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Pending"
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == "ginkgo" && e.Sel.Name == "Pending"
	}
	return false
}
