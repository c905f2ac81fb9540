package run

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A Tinker run whose sync_method is checkpoint publishes weights at the step at which it saves, too. Trinity-RFT 0.6.0
// skips the publication there, and its explorer waits until sync_timeout.
func TestSaveStepPublishes(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, offset := range []int{0, 1} {
		t.Run(fmt.Sprint("sync_offset ", offset), func(t *testing.T) {
			o := options()
			o.LookupEnv = withKey
			job := append(small, "model.tinker.base_url="+url, "synchronizer.sync_style=fixed",
				"synchronizer.sync_interval=1", "synchronizer.sync_timeout=60", "trainer.save_interval=2",
				fmt.Sprint("synchronizer.sync_offset=", offset))
			dir := t.TempDir()
			lines := runs(t, load(t, dir, append(job, "synchronizer.sync_method=checkpoint")...), o)
			for _, l := range lines {
				version, explored := l.Metrics["rollout/model_version"]
				if want := float64(max(0, l.Step-1-offset)); explored && version != want {
					t.Errorf("step %d was sampled with version %v, want %v", l.Step, version, want)
				}
			}
			saved := filepath.Join(dir, "trinity-tiny", "gsm8k", "global_step_2", "remote_checkpoint_path.txt")
			if _, err := os.Stat(saved); err != nil {
				t.Error(err)
			}
			memory := runs(t, load(t, t.TempDir(), append(job, "synchronizer.sync_method=memory")...), o)
			same(t, "sync_method memory", memory, lines)
		})
	}
}
