// Package lint checks the rules of the house as an ordinary Go test: go test
// ./internal/lint walks the module, nested modules included and testdata
// excluded, and names each breach by file and line, with what to do instead.
//
// CONTRIBUTING.md lists the rules for readers. Here each of them is a function
// from a parsed package to findings in a file named after its subject, and the
// list of all of them is rules in lint.go. A new rule comes with sources that
// break and keep it in the table test beside it.
//
// Not promised: that a rule cannot be evaded. Only syntax is looked at, no
// types, so that the whole module takes a second; the rules catch oversight,
// not intent.
//
// Goroutines: none.
package lint
