package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// After a repair the journal opens, the losses were named, and the model has the state of an unbroken run up to them.
func TestRepair(t *testing.T) {
	t.Parallel()
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{SnapshotAfter: time.Hour})
	c := mustBegin(t, j)
	var want []string
	for seq := int64(1); seq <= 8; seq++ {
		got, err := c.do(seq)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, got)
	}
	killed := asKilled(t, dir)
	j.Close()
	log := filepath.Join(killed, "journal", "log-00000001.seg")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	repaired := 0
	for at := 60; at < len(whole); at += max(1, len(whole)/40) {
		broken := t.TempDir()
		if err := os.CopyFS(broken, os.DirFS(killed)); err != nil {
			t.Fatal(err)
		}
		bad := slices.Clone(whole)
		bad[at] ^= 4
		if err := os.WriteFile(filepath.Join(broken, "journal", filepath.Base(log)), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		var said []string
		if err := journal.Repair(filepath.Join(broken, "journal"), disk.OS(),
			func(line string) { said = append(said, line) }); err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if len(said) == 0 || !strings.Contains(said[0], "set aside") {
			t.Fatalf("byte %d: said %q", at, said)
		}
		j, err := open(t, modelDir, broken, disk.OS(), journal.Options{})
		if err != nil {
			t.Fatalf("byte %d: %v (%q)", at, err, said)
		}
		m, err := j.OpenModel(ctx, "s:train:0")
		if err == nil {
			info, err := m.Info(ctx)
			if err != nil {
				t.Fatalf("byte %d: %v", at, err)
			}
			again := &client{j, m}
			// the client sends all again: kept results are returned, lost requests are executed
			for seq := int64(1); seq <= 8; seq++ {
				got, err := again.do(seq)
				if seq == 6 && err != nil && strings.Contains(err.Error(), "exists") {
					continue // the checkpoint is there from before
				}
				if err != nil || got != want[seq-1] {
					t.Fatalf("byte %d, request %d (next was %d): %s, %v; want %s", at, seq, info.NextSeqID, got, err,
						want[seq-1])
				}
			}
			repaired++
		} else if !strings.Contains(fmt.Sprint(said), "from number 0 on are lost") {
			t.Fatalf("byte %d: the model is gone and nothing said so: %q", at, said)
		}
		j.Close()
	}
	if repaired < 20 {
		t.Errorf("%d repairs kept the model", repaired)
	}
}

// A start names a missing segment, and a repair continues without it.
func TestRepairOfAMissingSegment(t *testing.T) {
	modelDir, dir := tinyModel(t), t.TempDir()
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{SnapshotAfter: time.Hour, SegmentBytes: 1})
	c := mustBegin(t, j)
	for seq := int64(1); seq <= 3; seq++ {
		if _, err := c.do(seq); err != nil {
			t.Fatal(err)
		}
	}
	other, err := j.CreateModel(ctx, tinker.CreateModelRequest{SessionID: "other", BaseModel: "tiny",
		LoRA: tinker.LoRA{Rank: 2, TrainAttn: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := outcome(other.Forward(ctx, batch(1))); err != nil {
		t.Fatal(err)
	}
	killed := asKilled(t, dir)
	j.Close()
	// a segment that was just begun has no marks yet: nothing was promised of it
	marks, _ := filepath.Glob(filepath.Join(killed, "journal", "log-*.seg.mark"))
	last := strings.TrimSuffix(marks[len(marks)-1], ".mark")
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, modelDir, killed, disk.OS(), journal.Options{}); err == nil ||
		!strings.Contains(err.Error(), last+" is missing") {
		t.Fatalf("without its last segment: %v", err)
	}
	var said []string
	if err := journal.Repair(filepath.Join(killed, "journal"), disk.OS(),
		func(line string) { said = append(said, line) }); err != nil {
		t.Fatal(err)
	}
	again, err := open(t, modelDir, killed, disk.OS(), journal.Options{})
	if err != nil {
		t.Fatalf("after a repair (%q): %v", said, err)
	}
	again.Close()
}

// asKilled copies the folder of an open journal, which is what a kill would leave. A file that is renamed during the
// copy starts the copy again.
func asKilled(t *testing.T, dir string) string {
	t.Helper()
	for {
		killed := t.TempDir()
		err := os.CopyFS(killed, os.DirFS(dir))
		if err == nil {
			return killed
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}
