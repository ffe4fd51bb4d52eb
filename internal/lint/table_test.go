package lint

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sources are the files of one package by path.
type sources map[string]string

// ruleCase is a package and the findings of one rule, "path:line: what".
type ruleCase struct {
	name  string
	files sources
	want  []string
}

// checkRule runs one rule over each case. It fails also when a table has only
// cases of one kind, for then it would not show what the rule is about.
func checkRule(t *testing.T, rule func(*Package) []Finding, cases []ruleCase) {
	t.Helper()
	kinds := map[bool]bool{}
	for _, c := range cases {
		kinds[len(c.want) > 0] = true
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range rule(packageOf(t, c.files)) {
				got = append(got, fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.What))
				if f.Instead == "" {
					t.Errorf("%v does not say what to do instead", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
	if len(kinds) != 2 {
		t.Error("the table needs a package that keeps the rule and one that breaks it")
	}
}

func packageOf(t *testing.T, files sources) *Package {
	t.Helper()
	p := &Package{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		file, err := parse(name, []byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		p.Dir = path.Dir(name)
		p.Files = append(p.Files, file)
	}
	return p
}

// one is a package of one file.
func one(name, source string) sources { return sources{name: source} }

// importing returns the source of a file that imports packages, on lines 2, 3, …
// with a leading "./" for packages of ours.
func importing(paths ...string) string {
	source := "package p\n"
	for _, imported := range paths {
		if ours, ok := strings.CutPrefix(imported, "./"); ok {
			imported = Module + "/" + ours
		}
		source += fmt.Sprintf("import _ %q\n", imported)
	}
	return source
}

// lines returns n lines.
func lines(n int, line string) string { return strings.Repeat(line+"\n", n) }
