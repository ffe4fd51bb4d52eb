package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Module is the path of the root module, the prefix of every import of ours.
const Module = "github.com/listwatch/listwatch"

// Finding is one breach of a rule.
type Finding struct {
	Path    string // relative to the module's root, with slashes
	Line    int    // from 1
	What    string // what is wrong
	Instead string // what to do about it
}

// String returns the finding as file:line: what (what to do instead).
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s (%s)", f.Path, f.Line, f.What, f.Instead)
}

// Package is a directory with Go files: the package and its external tests.
type Package struct {
	Dir   string // relative to the module's root; "." is the root
	Files []*File
}

// File is one parsed Go file.
type File struct {
	Path  string // relative to the module's root, with slashes
	Lines int
	AST   *ast.File
	fset  *token.FileSet
}

// rules are all rules about Go packages; textFindings has the one about text.
var rules = []func(*Package) []Finding{
	forbiddenImports,
	mixedHalves,
	injectedClocks,
	longFiles,
	longFunctions,
	manyParameters,
	realSleeps,
	bareGoroutines,
	missingLeakCheck,
	skippedTests,
	missingPackageDoc,
	missingDocs,
	missingExample,
	exportedLocked,
}

// Check returns the findings of all rules in the module at root, sorted.
func Check(root string) ([]Finding, error) {
	packages, texts, err := load(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, p := range packages {
		for _, rule := range rules {
			found = append(found, rule(p)...)
		}
	}
	for _, text := range texts {
		found = append(found, textFindings(text)...)
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return found, nil
}

// at makes a finding about a node of the file.
func (f *File) at(pos token.Pos, instead, what string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.line(pos), What: fmt.Sprintf(what, args...), Instead: instead}
}

func (f *File) line(pos token.Pos) int { return f.fset.Position(pos).Line }

func (f *File) isTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// isTesting reports whether the package exists for tests only, so that it may
// use what other packages use in _test.go files.
func (p *Package) isTesting() bool {
	return strings.HasSuffix(p.Dir, "test") || p.Dir == "internal/bubble"
}

// inside reports whether dir is under one of the given directories.
func inside(dir string, parents ...string) bool {
	return slices.ContainsFunc(parents, func(parent string) bool {
		return dir == parent || strings.HasPrefix(dir, parent+"/")
	})
}

// importName returns the name under which the file knows a package, "" if it
// does not import it. A dot import is ".".
func (f *File) importName(importPath string) string {
	for _, spec := range f.AST.Imports {
		if importPathOf(spec) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func importPathOf(spec *ast.ImportSpec) string {
	return strings.Trim(spec.Path.Value, "`\"")
}

// called returns the qualifier and the name of a called function: ("time",
// "Sleep") for time.Sleep(…), (".", "It") for It(…), two empty strings for
// anything else.
func called(call *ast.CallExpr) (qualifier, name string) {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return ".", fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			return x.Name, fun.Sel.Name
		}
		return "", fun.Sel.Name
	}
	return "", ""
}

// receiver returns the name of the type that a method belongs to, "" for a
// function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr: // one type parameter
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
