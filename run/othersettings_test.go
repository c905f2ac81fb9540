package run

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// Killed anywhere and started with other settings, a run goes on with them, or says how it can; with the former ones it
// goes on to the bits of an unbroken run.
func TestOtherSettingsAfterAKill(t *testing.T) {
	t.Parallel()
	count := &disktest.Crash{}
	o := options()
	o.FS, o.Out = count, io.Discard
	want := runs(t, load(t, disktest.TempDir(t), tiny...), o)
	changes := []string{"algorithm.optimizer.lr=0.02", "trainer.save_interval=2", "trainer.save_interval=100",
		"buffer.train_batch_size=2", "algorithm.kl_loss_fn=none", "synchronizer.sync_interval=3",
		"explorer.eval_interval=1"}
	hinted := map[string]bool{}
	for turn, at := range faultsAt(count.Count(), 9) {
		change := changes[turn%len(changes)]
		dir, o := disktest.TempDir(t), o
		crash := &disktest.Crash{At: at}
		o.FS = crash
		if _, err := jobWith(tiny...)(t, dir, o); !errors.Is(err, disktest.ErrCrash) {
			t.Fatalf("killed at %s: %v", crash.Last(), err)
		}
		crash.Now()
		o.FS = crash.Next()
		_, err := jobWith(and(tiny, change)...)(t, dir, o)
		if err == nil {
			continue
		}
		if hinted[change] = true; !strings.Contains(err.Error(), "start once with the former ones") {
			t.Errorf("killed at %s, then %s: %v", crash.Last(), change, err)
			continue
		}
		got, err := jobWith(tiny...)(t, dir, o)
		if err != nil {
			t.Errorf("killed at %s, then %s, then the former settings: %v", crash.Last(), change, err)
			continue
		}
		same(t, "killed at "+crash.Last()+", then "+change+", then the former settings", got, want)
	}
	if !testing.Short() && !hinted["algorithm.optimizer.lr=0.02"] {
		t.Error("no kill came between a step's gradient and its end")
	}
	for _, change := range changes {
		if strings.Contains(change, "_interval") && hinted[change] {
			t.Errorf("%s is refused after a kill", change)
		}
	}
}
