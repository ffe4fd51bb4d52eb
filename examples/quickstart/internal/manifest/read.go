package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// File is one file of manifests, not looked into yet.
type File struct {
	Name string // as the user would write it
	Data []byte
}

var extensions = []string{".yaml", ".yml", ".json"}

// Read reads files and folders, folders with everything below them. In a folder
// only *.yaml, *.yml and *.json count; a file that is named itself may be called
// anything. A folder that is called like a manifest is read as a folder, but must
// hold some. Errors: ErrNotFound, ErrUnreadable, ErrEmpty.
func Read(paths ...string) ([]File, error) {
	var files []File
	for _, name := range paths {
		info, err := os.Stat(name)
		if err != nil {
			return nil, readError(name, err)
		}
		found := []File{{Name: name}}
		if info.IsDir() {
			found, err = ReadFS(os.DirFS(name), name)
		} else {
			found[0].Data, err = readRegular(os.DirFS(filepath.Dir(name)), filepath.Base(name))
			err = wrapRead(name, err)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// ReadFS reads everything below the root of fsys, in lexical order; shown is
// the name of the root in errors. Errors: ErrUnreadable, ErrEmpty.
func ReadFS(fsys fs.FS, shown string) ([]File, error) {
	var files []File
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		full := path.Join(filepath.ToSlash(shown), name)
		switch {
		case err != nil:
			return readError(full, err)
		case !isManifest(name):
			return nil
		case entry.IsDir():
			// An empty one is what a container runtime puts where a file to
			// mount is missing. Nobody means to leave that out.
			below, err := readBelow(fsys, name, full)
			files = append(files, below...)
			if err == nil {
				err = fs.SkipDir // it is read already
			}
			return err
		}
		data, err := readRegular(fsys, name)
		files = append(files, File{Name: full, Data: data})
		return wrapRead(full, err)
	})
	if err == nil && len(files) == 0 {
		err = emptyFolder(shown)
	}
	return files, err
}

func readBelow(fsys fs.FS, name, shown string) ([]File, error) {
	below, err := fs.Sub(fsys, name)
	if err != nil {
		return nil, err
	}
	return ReadFS(below, shown)
}

func emptyFolder(shown string) error {
	what, fix := "the folder holds no ", "name a file, or a folder with manifests"
	if isManifest(shown) {
		what, fix = "it is a folder, though called like a file, and holds no ", "put the file in its place, or remove it"
	}
	return &Error{
		Place: Place{File: shown}, Kind: ErrEmpty,
		Detail: what + strings.Join(extensions, ", ") + " file", Fix: fix,
	}
}

// readRegular refuses what is not a file with an end, such as a named pipe.
func readRegular(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a link to a folder, which is not followed")
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is no regular file (%v)", info.Mode().Type())
	}
	return fs.ReadFile(fsys, name)
}

func isManifest(name string) bool {
	return slices.Contains(extensions, strings.ToLower(path.Ext(name)))
}

func wrapRead(name string, err error) error {
	if err == nil {
		return nil
	}
	return readError(name, err)
}

func readError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && !isLink(name) {
		return &Error{Place: Place{File: name}, Kind: ErrNotFound, Fix: "check the path"}
	}
	cause := err
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		cause = pathError.Err // the path itself is in the place already
	}
	return &Error{
		Place: Place{File: name}, Kind: ErrUnreadable, Detail: cause.Error(),
		Fix: "check what it is and its permissions, or move it out of the folder",
	}
}

// isLink tells a link that leads nowhere from a file that is not there.
func isLink(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
