package disk

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Where there are no symbolic links, a folder has the same files, and removing it leaves those of the other.
func TestShareFiles(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := errors.Join(os.MkdirAll(filepath.Join(from, "sub"), 0o755),
		os.WriteFile(filepath.Join(from, "a"), []byte("one"), 0o644),
		os.WriteFile(filepath.Join(from, "sub", "b"), []byte("two"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := shareFiles(from, to); err != nil {
		t.Fatal(err)
	}
	if err := CopyFile(OS(), filepath.Join(from, "a"), filepath.Join(to, "copied")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "one", "sub/b": "two", "copied": "one"} {
		if got, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name))); string(got) != want {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(from, "a")); string(got) != "one" {
		t.Errorf("the file is %q, %v", got, err)
	}
}
