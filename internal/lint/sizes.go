package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
)

// The sizes that keep a room readable.
const (
	maxFileLines     = 500
	maxTestFileLines = 700
	maxFunctionLines = 60
	maxParameters    = 5
)

const tooLong = "%s has %d lines, at most %d"

// longFiles finds files with too many lines.
func longFiles(p *Package) []Finding {
	var found []Finding
	for _, file := range p.Files {
		limit := maxFileLines
		if file.isTest() {
			limit = maxTestFileLines
		}
		if file.Lines > limit {
			found = append(found, Finding{Path: file.Path, Line: limit + 1, Instead: "split the file by subject",
				What: fmt.Sprintf(tooLong, "the file", file.Lines, limit)})
		}
	}
	return found
}

// longFunctions finds functions and function literals with too many lines.
// Literals that are values in a table or arguments of ginkgo's functions are
// measured by themselves and not as lines of the function around them; those of
// ginkgo's containers are not measured at all, as they are lists of specs.
func longFunctions(p *Package) []Finding {
	var found []Finding
	for _, file := range p.Files {
		apart, containers := literals(file)
		ast.Inspect(file.AST, func(n ast.Node) bool {
			var name string
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = n.Name.Name
			case *ast.FuncLit:
				name = "the function literal"
				if slices.Contains(containers, n) {
					return true
				}
			default:
				return true
			}
			if lines := ownLines(file, n, apart); lines > maxFunctionLines {
				found = append(found, file.at(n.Pos(), "split it into steps with names", tooLong, name, lines, maxFunctionLines))
			}
			return true
		})
	}
	return found
}

// literals returns the function literals that are measured apart from their
// surroundings, and those of them that belong to ginkgo's containers.
func literals(file *File) (apart, containers []*ast.FuncLit) {
	take := func(e ast.Expr) []*ast.FuncLit {
		if lit, ok := e.(*ast.FuncLit); ok {
			return []*ast.FuncLit{lit}
		}
		return nil
	}
	ast.Inspect(file.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, value := range n.Elts {
				if pair, ok := value.(*ast.KeyValueExpr); ok {
					value = pair.Value
				}
				apart = append(apart, take(value)...)
			}
		case *ast.CallExpr:
			qualifier, name := called(n)
			if !slices.Contains([]string{".", "ginkgo", "bubble"}, qualifier) {
				return true
			}
			for _, arg := range n.Args {
				switch {
				case slices.Contains(ginkgoContainers, name):
					containers = append(containers, take(arg)...)
					apart = append(apart, take(arg)...)
				case slices.Contains(ginkgoLeaves, name):
					apart = append(apart, take(arg)...)
				}
			}
		}
		return true
	})
	return apart, containers
}

var (
	ginkgoContainers = []string{"Describe", "FDescribe", "PDescribe", "XDescribe", "Context", "FContext", "PContext", "XContext",
		"When", "FWhen", "PWhen", "XWhen", "DescribeTableSubtree", "FDescribeTableSubtree"}
	ginkgoLeaves = []string{"It", "FIt", "PIt", "XIt", "Specify", "Entry", "FEntry", "PEntry", "DescribeTable", "FDescribeTable",
		"BeforeEach", "AfterEach", "JustBeforeEach", "JustAfterEach", "BeforeAll", "AfterAll", "BeforeSuite", "AfterSuite"}
)

// ownLines returns the lines of a function without those of the literals in it
// that are measured apart.
func ownLines(file *File, function ast.Node, apart []*ast.FuncLit) int {
	span := func(n ast.Node) int { return file.line(n.End()) - file.line(n.Pos()) }
	lines := span(function) + 1
	ast.Inspect(function, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && n != function && slices.Contains(apart, lit) {
			lines -= span(lit)
			return false
		}
		return true
	})
	return lines
}

// signatureComment marks a function whose parameters somebody else has chosen.
var signatureComment = regexp.MustCompile(`^//\s?signature: *\S`)

// manyParameters finds functions, methods and function types with too many
// parameters. The receiver is none. A function with a signature comment takes what
// it takes.
func manyParameters(p *Package) []Finding {
	var found []Finding
	for _, file := range p.Files {
		ast.Inspect(file.AST, func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && hasComment(f.Doc, signatureComment) {
				return false
			}
			if f, ok := n.(*ast.FuncType); ok && f.Params.NumFields() > maxParameters {
				found = append(found, file.at(start(f), "pass a struct with named fields; mark a function that stands in for another's with a comment // signature: whose",
					"%d parameters, at most %d", f.Params.NumFields(), maxParameters))
			}
			return true
		})
	}
	return found
}

// start is where a function type begins; in an interface it has no keyword.
func start(f *ast.FuncType) token.Pos {
	if f.Func.IsValid() {
		return f.Func
	}
	return f.Params.Pos()
}
