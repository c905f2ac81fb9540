package run

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// Killed anywhere and started with other settings, a run goes on with them, or says how it can; with the former ones it
// goes on to the bits of an unbroken run. Killed between a step's gradient and its commit it takes no other learning
// rate.
func TestOtherSettingsAfterAKill(t *testing.T) {
	t.Parallel()
	count := &disktest.Crash{}
	o := options()
	o.FS, o.Out = count, io.Discard
	want := runs(t, load(t, disktest.TempDir(t), tiny...), o)
	changes := []string{"algorithm.optimizer.lr=0.02", "trainer.save_interval=2", "trainer.save_interval=100",
		"buffer.train_batch_size=2", "algorithm.kl_loss_fn=none", "synchronizer.sync_interval=3",
		"explorer.eval_interval=1"}
	for turn, at := range stops(2*len(changes), count.Count()) {
		crash := &disktest.Crash{At: at}
		startsOtherwise(t, crash, crash, changes[turn%len(changes)], want)
	}
	for _, change := range changes {
		at := &killAtCommit{Crash: &disktest.Crash{}, at: 2}
		hinted := startsOtherwise(t, at.Crash, at, change, want)
		if !hinted && strings.Contains(change, "lr=") {
			t.Errorf("%s is accepted between a step's gradient and its commit", change)
		}
	}
}

// startsOtherwise kills a run on a disk and starts it with a change. It reports whether the run wanted the former
// settings, with which it is then started.
func startsOtherwise(t *testing.T, crash *disktest.Crash, fs disk.FS, change string, want []monitor.Line) bool {
	t.Helper()
	dir, o := disktest.TempDir(t), options()
	o.FS, o.Out = fs, io.Discard
	if _, err := jobWith(tiny...)(t, dir, o); !errors.Is(err, disktest.ErrCrash) {
		t.Fatalf("killed at %s: %v", crash.Last(), err)
	}
	crash.Now()
	o.FS = crash.Next()
	what := "killed at " + crash.Last() + ", then " + change
	_, err := jobWith(and(tiny, change)...)(t, dir, o)
	if err == nil {
		return false
	}
	if !strings.Contains(err.Error(), "start once with the former ones") || strings.Contains(change, "_interval") {
		t.Errorf("%s: %v", what, err)
		return true
	}
	got, err := jobWith(tiny...)(t, dir, o)
	if err != nil {
		t.Errorf("%s, then the former settings: %v", what, err)
	} else {
		same(t, what+", then the former settings", got, want)
	}
	return true
}

// killAtCommit crashes instead of the at-th time that the trainer's state is put in place.
type killAtCommit struct {
	*disktest.Crash
	at, seen int
}

func (k *killAtCommit) Rename(from, to string) error {
	if filepath.Base(to) == "trainer_meta.json" {
		if k.seen++; k.seen == k.at {
			k.Now()
		}
	}
	return k.Crash.Rename(from, to)
}
