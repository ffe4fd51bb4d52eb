package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// realSleepers are the functions of package time that wait for a clock.
var realSleepers = []string{"Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}

// bubbleComment marks a function that runs in bubbles only, or a type of tests
// all of whose methods do.
var bubbleComment = regexp.MustCompile(`^//\s?bubble: *\S`)

// workerComment marks a goroutine that ends by itself, soon.
var workerComment = regexp.MustCompile(`^//\s?worker: *\S`)

// realSleeps finds waiting for a clock in tests, unless it is lexically in a
// bubble, in an argument of a function of the package that opens one, or in a
// function marked with a bubble comment.
func realSleeps(p *Package) []Finding {
	var found []Finding
	helpers, types := bubbleHelpers(p), bubbleTypes(p)
	for _, file := range p.Files {
		timeName := file.importName("time")
		if timeName == "" || !isTestCode(p, file) {
			continue
		}
		marked := commentLines(file, bubbleComment)
		ast.Inspect(file.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return !hasComment(n.Doc, bubbleComment) && !slices.Contains(types, receiver(n))
			case *ast.FuncLit:
				return !slices.Contains(marked, file.line(n.Pos())-1)
			case *ast.CallExpr:
				qualifier, name := called(n)
				if opensBubble(n) || qualifier == "." && slices.Contains(helpers, name) {
					return false
				}
				if qualifier == timeName && slices.Contains(realSleepers, name) {
					found = append(found, file.at(n.Pos(), "wait for the event itself, or put the test in synctest.Test or bubble.It; "+
						"mark a helper, or the type of a rig, that is used in bubbles only with a comment // bubble: reason", "%s.%s in real time in a test", timeName, name))
				}
			}
			return true
		})
	}
	return found
}

// isTestCode reports whether a file is a test, or of a package of test helpers.
func isTestCode(p *Package, file *File) bool {
	return file.isTest() || strings.HasSuffix(p.Dir, "test")
}

// bubbleHelpers returns the names of the functions that take a function and
// open a bubble.
func bubbleHelpers(p *Package) []string {
	var names []string
	for _, file := range p.Files {
		for _, declaration := range file.AST.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !isTestCode(p, file) || !takesFunction(f) {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && opensBubble(call) {
					names = append(names, f.Name.Name)
				}
				return true
			})
		}
	}
	return names
}

// bubbleTypes returns the names of the types marked with a bubble comment.
func bubbleTypes(p *Package) []string {
	var names []string
	for _, file := range p.Files {
		for _, declaration := range file.AST.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.TYPE && isTestCode(p, file) && hasComment(d.Doc, bubbleComment) {
				for _, spec := range d.Specs {
					names = append(names, spec.(*ast.TypeSpec).Name.Name) // by the token
				}
			}
		}
	}
	return names
}

func takesFunction(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(parameter *ast.Field) bool {
		_, ok := parameter.Type.(*ast.FuncType)
		return ok
	})
}

// opensBubble reports whether a call runs its function arguments in a bubble.
func opensBubble(call *ast.CallExpr) bool {
	qualifier, name := called(call)
	return qualifier == "synctest" && name == "Test" ||
		qualifier == "bubble" && slices.Contains([]string{"It", "Run", "Body", "Cleanup"}, name)
}

// bareGoroutines finds go statements in code that is not a test. Long-lived
// goroutines belong to a worker.Group; a short-lived one says why it ends.
func bareGoroutines(p *Package) []Finding {
	if p.Dir == "internal/worker" || inside(p.Dir, "examples") {
		return nil
	}
	var found []Finding
	for _, file := range p.Files {
		if isTestCode(p, file) {
			continue
		}
		marked := commentLines(file, workerComment)
		ast.Inspect(file.AST, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok && !slices.Contains(marked, file.line(g.Pos())-1) && !slices.Contains(marked, file.line(g.Pos())) {
				found = append(found, file.at(g.Pos(), "start it with worker.Group.Go so that its owner waits for it; "+
					"one that ends by itself needs a comment //worker: reason on the line above", "a goroutine without an owner"))
			}
			return true
		})
	}
	return found
}

// exportedLocked finds exported functions that want a lock to be held.
func exportedLocked(p *Package) []Finding {
	var found []Finding
	check := func(file *File, name *ast.Ident) {
		if name.IsExported() && !file.isTest() && strings.HasSuffix(name.Name, "Locked") {
			found = append(found, file.at(name.Pos(), "lock inside, or keep the function in its package", "exported %s wants a lock held", name.Name))
		}
	}
	for _, file := range p.Files {
		ast.Inspect(file.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				check(file, n.Name)
			case *ast.InterfaceType:
				for _, method := range n.Methods.List {
					for _, name := range method.Names {
						check(file, name)
					}
				}
			}
			return true
		})
	}
	return found
}

// commentLines returns the last line of each comment group in which a line
// matches, so that a marker may be followed by more comment.
func commentLines(file *File, pattern *regexp.Regexp) []int {
	var lines []int
	for _, group := range file.AST.Comments {
		if hasComment(group, pattern) {
			lines = append(lines, file.line(group.End()-token.Pos(1)))
		}
	}
	return lines
}

func hasComment(group *ast.CommentGroup, pattern *regexp.Regexp) bool {
	return group != nil && slices.ContainsFunc(group.List, func(c *ast.Comment) bool { return pattern.MatchString(c.Text) })
}
