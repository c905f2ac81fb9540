package run

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// Environments as tasks of trinity run: the committed configuration, shortened, samples exactly on policy and tells of
// its episodes.
func TestGemWorkflowRuns(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("../examples/tiny/guess/workflow.yaml", []string{"checkpoint_root_dir=" + t.TempDir(),
		"buffer.batch_size=4", "algorithm.repeat_times=4",
		"buffer.total_steps=2", "trainer.total_steps=2", "explorer.eval_on_startup=false",
		"explorer.eval_interval=100"}, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	lines := runs(t, cfg, playing())
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each step", len(lines))
	}
	for _, l := range lines {
		for key, most := range map[string]float64{"rollout/num_turns/mean": 4, "rollout/episode_return/mean": 1,
			"rollout/accuracy/mean": 1, "critic/rewards/mean": 1} {
			if v, ok := l.Metrics[key]; !ok || v > most {
				t.Errorf("step %d: %s is %v (%v), want at most %v; there are %v", l.Step, key, v, ok, most,
					l.Metrics.Keys())
			}
		}
		if v := l.Metrics["train/kl_sample_train_v2"]; v != 0 {
			t.Errorf("step %d: sampler and trainer differ by %v", l.Step, v)
		}
	}
}
