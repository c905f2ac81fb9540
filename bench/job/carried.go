package job

import (
	"context"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/run"
)

// Rollouts are means over the rollouts of a run.
type Rollouts struct{ Calls, Branches float64 }

// Carried trains two steps of the tiny example cut down to a second, with rollouts that other programs carry out, as
// the overrides of the taskset say. It checks that training sees the samples to the bit, and that no task
// fails.
func Carried(ctx context.Context, what string, p run.Python, overrides ...string) (r Rollouts, err error) {
	sum, err := Job{File: "examples/tiny/gsm8k.yaml", Options: run.Options{Python: p}, Overrides: append([]string{
		"seed=5", "buffer.batch_size=2", "algorithm.repeat_times=2", "buffer.total_steps=2", "trainer.total_steps=2",
		"model.tinker.rank=4", "model.max_response_tokens=8", "trainer.save_interval=1",
		"explorer.eval_on_startup=false", "explorer.eval_interval=100", "explorer.max_retry_times=0",
		"buffer.explorer_input.eval_tasksets=[]"}, overrides...)}.Run(ctx)
	if err != nil {
		return r, fmt.Errorf("%s: %w", what, err)
	}
	n := len(sum.Lines)
	r.Calls = sum.Mean("rollout/num_turns/mean", 1, n)
	if r.Branches = sum.Mean("rollout/new_sequences/mean", 1, n); math.IsNaN(r.Branches) { // there was none
		r.Branches = 0
	}
	measured, err := Exact(sum.Lines)
	switch failed := sum.Mean("rollout/failed_task_count", 1, n); {
	case err != nil:
		return r, fmt.Errorf("%s: %w", what, err)
	case measured < n:
		return r, fmt.Errorf("%s: %d of %d steps measured the gap between sampler and trainer", what, measured, n)
	case failed != 0:
		return r, fmt.Errorf("%s: %v tasks of a step failed", what, failed)
	}
	fmt.Printf("%s: %d steps, gap 0, reward %.3f, %.1f calls a rollout, branches %.2f\n", what, n,
		sum.Mean(Reward, 1, n), r.Calls, r.Branches)
	return r, nil
}
