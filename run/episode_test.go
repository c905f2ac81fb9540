package run

import (
	"os"
	"path/filepath"
	"testing"
)

// Episodes of several turns, and several experiences of one repetition, go through the loops: the trainer finds the
// sampler's bits in the tokens that the model wrote and in no others, and the run repeats.
func TestEpisodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ row, args string }{
		"frozen_lake_workflow": {`{"size": 2, "p": 0.8, "seed": 42}`, "{agent_max_steps: 3}"},
		"sudoku_workflow":      {`{"id": 1}`, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "tasks.jsonl")
			if err := os.WriteFile(data, []byte(tt.row+"\n"+tt.row+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			args := []string{"name=episodes", "seed=3", "buffer.batch_size=2", "algorithm.repeat_times=2",
				"buffer.total_steps=2", "trainer.total_steps=2",
				"model.max_response_tokens=40", "model.max_prompt_tokens=500", "buffer.explorer_input.eval_tasksets=[]",
				"explorer.eval_on_startup=false",
				"buffer.explorer_input.taskset.path=" + data, "buffer.explorer_input.taskset.default_workflow_type=" +
					name, "buffer.explorer_input.taskset.workflow_args=" + tt.args}
			first := runs(t, load(t, t.TempDir(), args...), options())
			if len(first) != 2 {
				t.Fatalf("%d steps, want 2", len(first))
			}
			if kl := first[1].Metrics["train/kl_sample_train_v1"]; kl != 0 {
				t.Errorf("sampler and trainer differ by %g", kl)
			}
			same(t, name, runs(t, load(t, t.TempDir(), args...), options()), first)
		})
	}
}
