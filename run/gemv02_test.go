package run

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// Runs that v0.2 began (commit 2022474), which had a loop of its own for this, continue to the metrics of a run that
// was never stopped, wherever they stopped.
func TestGemRunsOfV02(t *testing.T) {
	t.Parallel()
	unraced(t, "TestGemInterruptAndResume")
	type unbroken struct {
		dir   string
		lines []monitor.Line
	}
	root, whole := t.TempDir(), map[string]unbroken{} // by what the run was begun with
	four, two := []string{"max_steps=4", "lora_rank=1"}, []string{"max_steps=2", "lora_rank=1", "eval_episodes=64"}
	for _, older := range []struct {
		name  string
		pairs []string
		ends  bool // with the checkpoints of a run that was never stopped, too
	}{
		{"killed", four, true},   // behind the requests that step 2 begins with
		{"stopped", four, false}, // by Ctrl-C, which saves
		{"saving", two, true},    // in the evaluation at the end, before the save was committed
	} {
		t.Run(older.name, func(t *testing.T) {
			dir := t.TempDir()
			untar(t, filepath.Join("testdata", "gem", "v0.2.tar.gz"), dir)
			dir = filepath.Join(dir, older.name)
			order, err := os.ReadFile(filepath.Join(dir, orderFile))
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint(older.pairs, string(order))
			fresh, done := whole[key]
			if !done {
				fresh.dir, fresh.lines = gemRunsAs(t, filepath.Join(root, older.name), order, older.pairs)
				whole[key] = fresh
			}
			_, got := gemRuns(t, onEngine(), []string{"resume=" + dir})
			same(t, "continued", got, fresh.lines)
			if got, want := checkpoints(t, dir), checkpoints(t, fresh.dir); older.ends && got != want {
				t.Errorf("checkpoints\n%s, want\n%s", got, want)
			}
		})
	}
}

// begun is a file system in which the arithmetic of a new folder is what order says, not that of this processor.
type begun struct {
	disk.FS
	order []byte
}

func (b begun) Link(from, to string) error {
	if filepath.Base(to) == "order" {
		if err := os.WriteFile(from, b.order, 0o644); err != nil {
			return err
		}
	}
	return b.FS.Link(from, to)
}

// orderFile has the arithmetic of a run, in its folder.
var orderFile = filepath.Join("tinker", "checkpoints", "order")

// gemRunsAs is gemRuns for a new run in an arithmetic.
func gemRunsAs(t *testing.T, dir string, order []byte, pairs []string) (string, []monitor.Line) {
	t.Helper()
	o := onEngine()
	o.FS = begun{FS: disk.OS(), order: order}
	fresh, lines := gemRuns(t, o, short(dir, pairs...))
	if kept, err := os.ReadFile(filepath.Join(fresh, orderFile)); err != nil || string(kept) != string(order) {
		t.Fatalf("%s computes in %q, %v; want %q", fresh, kept, err, order)
	}
	return fresh, lines
}

// checkpoints are the names in a run's checkpoints.jsonl, and what updates the weights have.
func checkpoints(t *testing.T, dir string) string {
	t.Helper()
	list, err := gem.ReadCheckpoints(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, c := range list {
		text += fmt.Sprintf("%s of step %d after %d updates, for samplers: %v\n", c.Name, c.PolicyStep, c.Updates,
			c.SamplerPath != "")
	}
	return text
}

// untar writes the files of a gzipped tar below dir.
func untar(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = unpackOne(r, h, filepath.Join(dir, filepath.FromSlash(h.Name)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackOne(r io.Reader, h *tar.Header, path string) error {
	if h.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o755)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o644)
}
