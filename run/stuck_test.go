package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/synchronizer"
)

// When the trainer waits for experiences and the explorer for the weights that they would make, the run ends at once and says so.
func TestExplorerAndTrainerWaitForEachOther(t *testing.T) {
	args := and(tiny, "buffer.train_batch_size=6", "trainer.total_steps=null", "synchronizer.sync_timeout=500")
	begin := time.Now()
	_, err := Run(context.Background(), load(t, t.TempDir(), args...), options())
	if !errors.Is(err, synchronizer.ErrStuck) || time.Since(begin) > time.Minute {
		t.Fatalf("error %v after %v, want ErrStuck at once", err, time.Since(begin))
	}
	for _, want := range []string{"weights version 1", "for 6 experiences, of which there are 4", "buffer.train_batch_size", "synchronizer.sync_offset"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	runs(t, load(t, t.TempDir(), and(args, "synchronizer.sync_offset=1")...), options())
}
