package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/journal"
)

// One wrong bit in a snapshot, or in the log before its last record, stops the start with the file's name, and Verify finds it too.
func TestDamageIsNamed(t *testing.T) {
	modelDir := tinyModel(t)
	for _, pattern := range []string{"model-*.snap", "log-*.seg"} {
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
		if pattern == "log-*.seg" {
			j = mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
			c = mustBegin(t, j)
			for seq := int64(5); seq <= 8; seq++ {
				if _, err := c.do(seq); err != nil {
					t.Fatal(err)
				}
			}
		}
		paths, err := filepath.Glob(filepath.Join(dir, "journal", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %q, %v", pattern, paths, err)
		}
		path := paths[len(paths)-1]
		copied := filepath.Join(t.TempDir(), "journal")
		if err := os.CopyFS(copied, os.DirFS(filepath.Join(dir, "journal"))); err != nil {
			t.Fatal(err)
		}
		j.Close()
		raw, err := os.ReadFile(filepath.Join(copied, filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)/3] ^= 1
		bad := filepath.Join(copied, filepath.Base(path))
		if err := os.WriteFile(bad, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := journal.Verify(copied, func(string) {}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("Verify of a damaged %s: %v", pattern, err)
		}
		if _, err := open(t, modelDir, filepath.Dir(copied), disk.OS(), journal.Options{}); err == nil || !strings.Contains(err.Error(), bad) || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("a start with a damaged %s: %v", pattern, err)
		}
	}
}
