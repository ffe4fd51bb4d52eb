package manifest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// folder writes files, given as name and content in turn.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAFolderIsReadWithAllBelowItButOnlyManifests(t *testing.T) {
	root := folder(t, "b.yaml", "1", "a/deep/x.yml", "2", "a/y.JSON", "3", "README.md", "4", "c.yaml.bak", "5")
	files, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []File{
		{filepath.Join(root, "a/deep/x.yml"), []byte("2")},
		{filepath.Join(root, "a/y.JSON"), []byte("3")},
		{filepath.Join(root, "b.yaml"), []byte("1")},
	}
	if len(files) != len(want) {
		t.Fatalf("got %d files, want %d", len(files), len(want))
	}
	for i := range want {
		if files[i].Name != want[i].Name || string(files[i].Data) != string(want[i].Data) {
			t.Errorf("file %d is %s with %q, want %s with %q", i, files[i].Name, files[i].Data, want[i].Name, want[i].Data)
		}
	}
}

func TestAFolderThatIsCalledLikeAManifestIsReadOnlyIfItHoldsSome(t *testing.T) {
	root := folder(t, "a.yaml/deep/x.yaml", "1", "b.yaml", "2")
	files, err := Read(root)
	if err != nil || len(files) != 2 || files[0].Name != filepath.Join(root, "a.yaml/deep/x.yaml") {
		t.Fatalf("got %v, %v", files, err)
	}
	empty := filepath.Join(folder(t, "app/a.yaml", "1", "app/b.yaml/deep/README.md", "2", "app/c.yaml", "3"), "app", "b.yaml")
	for _, path := range []string{empty, filepath.Dir(empty), filepath.Dir(filepath.Dir(empty))} {
		_, err := Read(path)
		checkError(t, err, ErrEmpty, empty+": nothing in it: it is a folder, though called like a file, and holds no .yaml, .yml, .json file")
	}
}

func TestAFileThatIsNamedMayHaveAnyName(t *testing.T) {
	root := folder(t, "objects.txt", goodConfigMap)
	files, err := Read(filepath.Join(root, "objects.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	if objects, err := Load(files, testKinds()); err != nil || len(objects) != 1 {
		t.Errorf("got %d objects, %v", len(objects), err)
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	root := folder(t, "good.yaml", goodConfigMap, "empty/readme", "")
	link := filepath.Join(root, "links", "loop.yaml")
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(link, link); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(root, "outside", "folder.yaml")
	if err := os.Mkdir(filepath.Dir(outside), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), outside); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(root, "dangling", "gone.yaml")
	if err := os.Mkdir(filepath.Dir(dangling), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path string
		kind error
		want string
	}{
		{filepath.Join(root, "none.yaml"), ErrNotFound, "none.yaml: no such file or folder; check the path"},
		{filepath.Join(root, "empty"), ErrEmpty, "the folder holds no .yaml, .yml, .json file"},
		{filepath.Join(root, "links"), ErrUnreadable, "loop.yaml: cannot read it: too many levels of symbolic links"},
		{link, ErrUnreadable, "loop.yaml: cannot read it"},
		{filepath.Join(root, "dangling"), ErrUnreadable, "gone.yaml: cannot read it: no such file"},
		{filepath.Join(root, "outside"), ErrUnreadable, "folder.yaml: cannot read it: it is a link to a folder"},
		{os.DevNull, ErrUnreadable, "no regular file"},
	} {
		_, err := Read(test.path)
		checkError(t, err, test.kind, test.want)
	}
}

// lockedFS refuses to open one file, as a file system does for want of
// permission (root, who may run the tests, is never refused by a real one).
type lockedFS struct {
	fs.FS
	locked string
}

// Open implements fs.FS.
func (f lockedFS) Open(name string) (fs.File, error) {
	if name == f.locked {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

func TestAFileOrFolderWithoutPermissionIsNamed(t *testing.T) {
	root := os.DirFS(folder(t, "a.yaml", goodConfigMap, "sub/b.yaml", goodConfigMap))
	for _, locked := range []string{"a.yaml", "sub", "sub/b.yaml"} {
		_, err := ReadFS(lockedFS{root, locked}, "app")
		checkError(t, err, ErrUnreadable, "app/"+locked+": cannot read it: permission denied")
	}
}
