package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
)

// An engine beside a trainer in another process keeps the trainer's unfinished checkpoints; an engine that is alone
// removes those of a killed process.
func TestBesideLeavesUnfinishedCheckpoints(t *testing.T) {
	for beside, want := range map[bool]bool{true: true, false: false} {
		dir := t.TempDir()
		half := filepath.Join(dir, "model", "weights", "step"+checkpoint.Unfinished)
		if err := os.MkdirAll(half, 0o755); err != nil {
			t.Fatal(err)
		}
		open(t, Options{Dir: dir, Beside: beside})
		if _, err := os.Stat(half); (err == nil) != want {
			t.Errorf("beside %v: %s is there: %v; want %v", beside, half, err == nil, want)
		}
	}
}
