package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// benchmark is the role of mode bench among the monitors, and its mark among the files of a job directory.
const benchmark = "benchmark"

// forgetTimeout bounds the wait until a server has deleted weights that were made to be evaluated.
const forgetTimeout = 10 * time.Second

// bench evaluates the model as it is (explorer.eval_on_startup) and then every state that the job directory has, in their order; or with
// explorer.bench_on_latest_checkpoint the last of them alone.
func (b *job) bench(ctx context.Context) error {
	steps, err := b.benchSteps()
	if err != nil {
		return err
	}
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	for _, step := range steps {
		b.progress.phase(fmt.Sprintf("evaluating step %d", step))
		path, forget, err := b.benchSampler(ctx, step)
		if err != nil {
			return fmt.Errorf("run: step %d: %w", step, err)
		}
		metrics, err := b.explorer.Evaluate(ctx, step, path, "bench/")
		if err = errors.Join(err, forget()); err != nil {
			return fmt.Errorf("run: step %d: %w", step, err)
		}
		b.monitor.Add(step, benchmark, metrics)
		line, err := b.monitor.Commit(step)
		if err != nil {
			return err
		}
		b.progress.step(step, line)
	}
	return nil
}

// benchSteps are the steps to evaluate; 0 is the model as it is.
func (b *job) benchSteps() ([]int, error) {
	dirs, err := filepath.Glob(filepath.Join(b.dir, "global_step_*"))
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	var steps []int
	for _, dir := range dirs {
		step, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "global_step_"))
		if err != nil {
			continue // not ours
		}
		if _, err := os.Stat(filepath.Join(dir, "remote_checkpoint_path.txt")); err == nil {
			steps = append(steps, step)
		} else if _, err := os.Stat(filepath.Join(dir, "actor")); err == nil {
			return nil, fmt.Errorf("run: %s is a checkpoint of Trinity-RFT's verl backend, which is not read; name its actor/huggingface folder in model.model_path, and another job", dir)
		}
	}
	slices.Sort(steps)
	switch {
	case b.cfg.Explorer.BenchOnLatestCheckpoint && len(steps) == 0:
		return nil, fmt.Errorf("run: explorer.bench_on_latest_checkpoint is true, and %s has no saved state; train the job first, or leave it out", b.dir)
	case b.cfg.Explorer.BenchOnLatestCheckpoint:
		return steps[len(steps)-1:], nil
	case b.cfg.Explorer.EvalOnStartup || len(steps) == 0:
		return append([]int{0}, steps...), nil
	}
	return steps, nil
}

// benchSampler is the path of a step's weights to sample from. A server samples from weights saved for that alone: they are made of the state,
// and deleted by forget.
func (b *job) benchSampler(ctx context.Context, step int) (path string, forget func() error, err error) {
	forget = func() error { return nil }
	if step == 0 {
		return b.startSampler, forget, nil
	}
	note, err := os.ReadFile(filepath.Join(b.dir, "global_step_"+strconv.Itoa(step), "remote_checkpoint_path.txt"))
	state := strings.TrimSpace(string(note))
	if err != nil || b.backend.Kind == config.Local {
		return state, forget, err
	}
	client, err := b.service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: state})
	if err != nil {
		return "", forget, err
	}
	f, err := client.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: fmt.Sprintf("%s-bench-%d", prefix(b.cfg), step)})
	if err != nil {
		return "", forget, err
	}
	out, err := f.Wait(ctx)
	return out.Path, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
		defer cancel()
		return b.service.DeleteCheckpoint(ctx, out.Path)
	}, err
}
