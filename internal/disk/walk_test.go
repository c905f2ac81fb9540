package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWalkDirFollowsItsRoot(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll("real/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", "link"); err != nil {
		t.Skip(err)
	}
	for root, want := range map[string][]string{
		"link":                     {"link", "link/a", "link/a/b"},
		"./link/":                  {"link", "link/a", "link/a/b"},
		filepath.Join(dir, "link"): {dir + "/link", dir + "/link/a", dir + "/link/a/b"},
		".":                        {".", "link", "real", "real/a", "real/a/b"},
	} {
		var got []string
		err := WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			got = append(got, filepath.ToSlash(path))
			return err
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", root, got, err, want)
		}
	}
	missing := WalkDir("none", func(_ string, _ fs.DirEntry, err error) error { return err })
	if !os.IsNotExist(missing) {
		t.Errorf("a missing folder: %v", missing)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "b", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c", "a", filepath.Join("b", "x")} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Files(dir); err != nil || !slices.Equal(got, []string{"a", "b/x", "c"}) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Files(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a missing folder: %v", err)
	}
}
