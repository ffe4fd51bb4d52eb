package lint

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text is a text file of any kind.
type Text struct {
	Path    string
	Content string
}

// largest is the size in bytes from which a file is data, not text to read.
const largest = 1 << 20

// load reads the module at root, and the modules nested in it.
func load(root string) (packages []*Package, texts []Text, err error) {
	byDir := map[string]*Package{}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if skipDir(relative) {
				return filepath.SkipDir
			}
			return nil
		}
		content, ok, err := readText(name, entry)
		if err != nil || !ok {
			return err
		}
		texts = append(texts, Text{Path: relative, Content: string(content)})
		if !strings.HasSuffix(relative, ".go") || slices.Contains(strings.Split(relative, "/"), "testdata") {
			return nil
		}
		file, err := parse(relative, content)
		if err != nil {
			return err
		}
		dir := path.Dir(relative)
		if byDir[dir] == nil {
			byDir[dir] = &Package{Dir: dir}
			packages = append(packages, byDir[dir])
		}
		byDir[dir].Files = append(byDir[dir].Files, file)
		return nil
	})
	if err == nil && len(packages) == 0 {
		err = fmt.Errorf("lint: no Go files under %s", root)
	}
	return packages, texts, err
}

// skipDir reports whether a directory is none of ours: git's, an editor's, or
// ignored by git.
func skipDir(relative string) bool {
	base := path.Base(relative)
	return relative == "bin" || base == "vendor" ||
		strings.HasPrefix(base, ".") && relative != "." && base != ".ci" && base != ".github"
}

// readText returns the content of a regular file if it is text.
func readText(name string, entry fs.DirEntry) (content []byte, ok bool, err error) {
	info, err := entry.Info()
	if err != nil || !info.Mode().IsRegular() || info.Size() > largest || ignored(entry.Name()) {
		return nil, false, err
	}
	content, err = os.ReadFile(name)
	if err != nil {
		return nil, false, err
	}
	return content, utf8.Valid(content) && !bytes.ContainsRune(content, 0), nil
}

// ignored reports whether a file is a product of tools that git ignores, or the
// file .git that stands for the directory in a worktree.
func ignored(base string) bool {
	return base == ".git" || base == "coverage.out" || base == "go.work.sum" || strings.HasSuffix(base, ".prof") ||
		strings.HasSuffix(base, ".test") || strings.HasSuffix(base, ".kubeconfig")
}

func parse(relative string, content []byte) (*File, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, relative, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	return &File{Path: relative, Lines: bytes.Count(content, []byte("\n")), AST: tree, fset: fset}, nil
}
