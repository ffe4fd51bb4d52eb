package lint

import (
	"go/ast"
	"go/doc"
	"path"
	"regexp"
	"slices"
	"strings"
)

// missingPackageDoc finds packages without a doc.go that explains them and
// counts their goroutines. A program may explain itself in any of its files.
func missingPackageDoc(p *Package) []Finding {
	first := slices.IndexFunc(p.Files, func(f *File) bool { return !f.isTest() })
	if first < 0 {
		return nil // only tests
	}
	const instead = "write doc.go: what the package promises, what it does not, and how many goroutines it has"
	file := p.Files[first]
	if file.AST.Name.Name == "main" {
		if slices.ContainsFunc(p.Files, func(f *File) bool { return f.AST.Doc.Text() != "" }) {
			return nil
		}
		return []Finding{file.at(file.AST.Package, "say above package main what the program does and how to run it",
			"the program has no package comment")}
	}
	i := slices.IndexFunc(p.Files, func(f *File) bool { return path.Base(f.Path) == "doc.go" })
	if i < 0 {
		return []Finding{file.at(file.AST.Package, instead, "package %s has no doc.go", file.AST.Name.Name)}
	}
	file = p.Files[i]
	switch text := file.AST.Doc.Text(); {
	case text == "":
		return []Finding{file.at(file.AST.Package, instead, "doc.go has no package comment")}
	case !strings.Contains(text, "oroutine"):
		return []Finding{file.at(file.AST.Package, instead, "the package comment does not count the goroutines")}
	}
	return nil
}

const docInstead = "say what it does, its units, its errors and whether it may be called concurrently"

// missingDocs finds exported identifiers without a comment in packages that
// others can import.
func missingDocs(p *Package) []Finding {
	if slices.Contains(strings.Split(p.Dir, "/"), "internal") {
		return nil
	}
	var found []Finding
	for _, file := range p.Files {
		if file.isTest() || file.AST.Name.Name == "main" {
			continue
		}
		for _, declaration := range file.AST.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
					found = append(found, file.at(d.Pos(), docInstead, "%s has no doc comment", d.Name.Name))
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					found = append(found, missingSpecDocs(file, d, spec)...)
				}
			}
		}
	}
	return found
}

// missingSpecDocs looks at one type, or at the names of one var or const line.
func missingSpecDocs(file *File, group *ast.GenDecl, spec ast.Spec) []Finding {
	var found []Finding
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && group.Doc == nil && s.Doc == nil && s.Comment == nil {
				found = append(found, file.at(name.Pos(), docInstead, "%s has no doc comment", name.Name))
			}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return nil
		}
		doc := s.Doc
		if doc == nil {
			doc = group.Doc
		}
		if doc == nil {
			found = append(found, file.at(s.Pos(), docInstead, "%s has no doc comment", s.Name.Name))
		}
		found = append(found, missingMemberDocs(file, s, doc.Text())...)
	}
	return found
}

// missingMemberDocs looks at the methods of an interface and at the fields of
// an options struct, which are read like functions. Other fields may speak for
// themselves, as may a member that the type's comment mentions.
func missingMemberDocs(file *File, s *ast.TypeSpec, typeDoc string) []Finding {
	var members *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		if !strings.HasSuffix(s.Name.Name, "Options") {
			return nil
		}
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	default:
		return nil
	}
	var found []Finding
	for _, member := range members.List {
		for _, name := range member.Names {
			mentioned := regexp.MustCompile(`\b` + name.Name + `\b`).MatchString(typeDoc)
			if name.IsExported() && member.Doc == nil && member.Comment == nil && !mentioned {
				found = append(found, file.at(name.Pos(), docInstead, "%s.%s has no comment", s.Name.Name, name.Name))
			}
		}
	}
	return found
}

// missingExample finds packages that others can import and that have no example
// whose output is checked. Where every exported function is for a test to call,
// there can be none.
func missingExample(p *Package) []Finding {
	if slices.Contains(strings.Split(p.Dir, "/"), "internal") {
		return nil
	}
	var usable *ast.Ident
	var from *File
	var tests []*ast.File
	for _, file := range p.Files {
		if file.isTest() {
			tests = append(tests, file.AST)
		} else if usable == nil && file.AST.Name.Name != "main" {
			from, usable = file, firstUsable(file)
		}
	}
	checked := func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput }
	if usable == nil || slices.ContainsFunc(doc.Examples(tests...), checked) {
		return nil
	}
	return []Finding{from.at(usable.Pos(), "write func Example() with an // Output: comment that shows what the package is for",
		"package %s has no example whose output is checked", from.AST.Name.Name)}
}

// firstUsable returns the name of the first exported function of a file that
// wants no *testing.T, nil if there is none.
func firstUsable(file *File) *ast.Ident {
	for _, declaration := range file.AST.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if ok && f.Name.IsExported() && f.Recv == nil && !mentions(f.Type.Params, file.importName("testing")) {
			return f.Name
		}
	}
	return nil
}

// mentions reports whether a type in a tree is of the package with this name.
func mentions(tree ast.Node, name string) bool {
	found := false
	ast.Inspect(tree, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && name != "" {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == name
		}
		return !found
	})
	return found
}
