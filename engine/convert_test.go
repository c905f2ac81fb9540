package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// A copy that is stopped anywhere leaves no folder or a complete one, and the next one replaces what was left.
func TestCopySurvivesEveryCrash(t *testing.T) {
	from, dir := writeModel(t, true, true), t.TempDir()
	out := filepath.Join(dir, "copy")
	want := append(tree(t, from), "chat_template.jinja")
	slices.Sort(want)
	for at := 1; ; at++ {
		fs := &disktest.Crash{FS: disk.OS(), At: at}
		err := copyModel(fs, from, out, "own")
		if _, there := os.Stat(out); there == nil && !slices.Equal(tree(t, out), want) {
			t.Fatalf("crash at %d: %v", at, tree(t, out))
		}
		if err == nil {
			break
		}
		if !errors.Is(err, disktest.ErrCrash) {
			t.Fatalf("crash at %d: %v", at, err)
		}
		os.RemoveAll(out) // of a crash after the rename
		if err := CopyModel(from, out, "own"); err != nil || !slices.Equal(tree(t, dir), below("copy", want)) {
			t.Fatalf("after a crash at %d: %v, %v", at, tree(t, dir), err)
		}
		os.RemoveAll(out)
	}
}

// below puts a folder before names.
func below(folder string, names []string) (list []string) {
	for _, name := range names {
		list = append(list, filepath.Join(folder, name))
	}
	return list
}

// A copy goes to a new folder or an empty one, also behind a link; what is there is not touched.
func TestCopyTarget(t *testing.T) {
	from, dir := writeModel(t, true, true), t.TempDir()
	file, empty, link := filepath.Join(dir, "file"), filepath.Join(dir, "empty"), filepath.Join(dir, "link")
	write(t, file, []byte("kept"))
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(empty, link); err != nil {
		t.Skip(err)
	}
	for _, out := range []string{link, filepath.Join(dir, "slash") + "/"} {
		if err := CopyModel(from, out, ""); err != nil {
			t.Errorf("%s: %v", out, err)
		}
	}
	for _, at := range []string{empty, filepath.Join(dir, "slash")} {
		if !slices.Equal(tree(t, at), tree(t, from)) {
			t.Errorf("%s has %v", at, tree(t, at))
		}
	}
	if err := CopyModel(from, link, ""); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a model in its place: %v", err)
	}
	if err := CopyModel(from, file, ""); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file in its place: %v", err)
	}
	if kept, err := os.ReadFile(file); string(kept) != "kept" {
		t.Errorf("the file has %q, %v", kept, err)
	}
}
