package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files under a new directory and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestCheckWalksNestedModulesAndNothingElse(t *testing.T) {
	const bad = "package x\nfunc F() {}\n"
	root := tree(t, map[string]string{
		"go.mod":            "module x\n",
		"a/doc.go":          "// Package a has no goroutines.\npackage a\n",
		"a/x.go":            bad,
		"a/testdata/x/x.go": bad,
		"a/.hidden/x.go":    bad,
		"vendor/v/x.go":     bad,
		"bin/x.go":          bad,
		"nested/go.mod":     "module x/nested\n",
		"nested/n/x.go":     bad,
		".ci/run":           "cd /" + "root/x\n",
		"a/testdata/x.txt":  "see /" + "tmp/x\n",
		"a/data.bin":        "\x00/" + "tmp/x\n",
		"x.prof":            "/" + "tmp/x\n",
		".git":              "gitdir: /" + "tmp/x\n",
	})
	findings, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, strings.SplitN(f.String(), " (", 2)[0])
	}
	want := []string{
		".ci/run:1: an absolute path of one machine",
		"a/testdata/x.txt:1: an absolute path of one machine",
		"a/x.go:2: F has no doc comment",
		"a/x.go:2: package x has no example whose output is checked",
		"nested/n/x.go:1: package x has no doc.go",
		"nested/n/x.go:2: F has no doc comment",
		"nested/n/x.go:2: package x has no example whose output is checked",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestCheckReportsWhatItCannotRead(t *testing.T) {
	if _, err := Check(t.TempDir()); err == nil {
		t.Error("a directory without Go files was found in order")
	}
	if _, err := Check(tree(t, map[string]string{"a.go": "package"})); err == nil || !strings.Contains(err.Error(), "a.go:1") {
		t.Errorf("a file that does not parse: %v", err)
	}
}

func TestAFindingSaysWhereWhatAndWhatToDo(t *testing.T) {
	got := Finding{Path: "p/x.go", Line: 7, What: "too long", Instead: "split it"}.String()
	if want := "p/x.go:7: too long (split it)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
