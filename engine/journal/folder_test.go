package journal_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Snapshots, tombstones and checkpoints are found in a folder whose name looks like a pattern.
func TestFolderNamedLikeAPattern(t *testing.T) {
	modelDir, dir := tinyModel(t), filepath.Join(t.TempDir(), "grpo[1]")
	var answers []string
	j := mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	if err := script(j, &answers); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil { // with a snapshot
		t.Fatal(err)
	}
	j = mustOpen(t, modelDir, dir, disk.OS(), journal.Options{})
	if _, all := j.Evicted(); all != 1 {
		t.Fatalf("after a start there are %d models, want 1", all)
	}
	c := mustBegin(t, j)
	if got, err := c.do(ops); err != nil || got != answers[ops-1] {
		t.Errorf("request %d again: %s, %v; want %s", ops, got, err, answers[ops-1])
	}
	f, err := j.UnloadModel(ctx, "s:train:0")
	if err == nil {
		_, err = f.Wait(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	err = journal.Verify(filepath.Join(dir, "journal"), func(line string) { fmt.Fprintln(&seen, line) })
	if err != nil || !strings.Contains(seen.String(), "model s:train:0, unloaded") {
		t.Errorf("verify: %v\n%s", err, &seen)
	}
}
