package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// One wrong bit anywhere in the log or in a snapshot gives an error with the file's name: in the log at the start, in
// a snapshot when its model is needed. Verify finds both.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	modelDir := tinyModel(t)
	dir := t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	c := mustBegin(t, j)
	for seq := int64(1); seq <= 4; seq++ {
		if _, err := c.do(seq); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil { // takes a snapshot
		t.Fatal(err)
	}
	j = mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	c = mustBegin(t, j)
	for seq := int64(5); seq <= 8; seq++ {
		if _, err := c.do(seq); err != nil {
			t.Fatal(err)
		}
	}
	copied := filepath.Join(asKilled(t, dir), "journal")
	j.Close()
	paths, err := filepath.Glob(filepath.Join(copied, "*"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, ".mark") {
			continue
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			at := (2*i + 1) * len(whole) / 80
			damaged := slices.Clone(whole)
			damaged[at] ^= 1 << (i % 8)
			for _, bad := range [][]byte{damaged, whole[:at]} {
				if err := os.WriteFile(path, bad, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := journal.Verify(copied, func(string) {}); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("Verify with %s damaged at byte %d: %v", path, at, err)
				}
				if err := use(t, modelDir, filepath.Dir(copied)); err == nil || !strings.Contains(err.Error(), path) ||
					!strings.Contains(err.Error(), "damaged") {
					t.Errorf("%s damaged at byte %d: %v", path, at, err)
				}
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := use(t, modelDir, filepath.Dir(copied)); err != nil {
		t.Errorf("all is whole again: %v", err)
	}
}

// use opens a copy of a journal and sends the script's next request.
func use(t *testing.T, modelDir, dir string) error {
	t.Helper()
	scratch := t.TempDir()
	if err := os.CopyFS(filepath.Join(scratch, "work"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	j, err := open(t, modelDir, filepath.Join(scratch, "work"), disk.OS(), journal.Options{})
	if err == nil {
		defer j.Close()
		var c *client
		if c, err = begin(j); err == nil {
			_, err = c.m.Forward(ctx, batch(9))
		}
	}
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), filepath.Join(scratch, "work"), dir))
	}
	return nil
}
