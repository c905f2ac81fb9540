package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// chain is the shortest possible chain of calls of an on-policy step: each call needs the answer of the one before.
var chain = []string{"create_sampling_session", "asample", "retrieve_future", "forward_backward", "optim_step",
	"save_weights_for_sampler", "retrieve_future"}

const (
	mathFile  = "examples/tiny/data/train.jsonl"
	mathRun   = "examples/tiny/gsm8k.yaml"
	gamesFile = "examples/tiny/guess/seeds/train.jsonl"
	gamesRun  = "examples/tiny/guess/workflow.yaml"
	oneTurn   = "buffer.explorer_input.taskset.workflow_args.max_turns=1"
)

// step measures 96 tasks with 8 repetitions: with one request per task, one per sample, and the cookbook's loop.
func (b *bench) step() error {
	grouped, err := newFar(b.ctx, tiny, b.folder())
	if err != nil {
		return err
	}
	defer grouped.close()
	single, err := newFar(b.ctx, guess, b.folder())
	if err != nil {
		return err
	}
	defer single.close()
	math, err1 := b.taskset(mathFile, 96)
	games, err2 := b.taskset(gamesFile, 96)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	games = append(games, oneTurn)
	fmt.Println("| latency | loop | a step, median (least to most) | | calls a step " +
		"| processor time a step, start included | peak memory |\n|---|---|---|---|---|---|---|")
	for _, latency := range []time.Duration{b.most / 10, b.most} {
		if err := b.atLatency(latency, grouped, single, math, games); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) atLatency(latency time.Duration, grouped, single *far, math, games []string) error {
	ideal := time.Duration(len(chain)) * latency
	limit := ideal + 400*time.Millisecond // of which the server takes about half
	if latency >= time.Second {
		limit = time.Duration(1.05 * float64(ideal))
	}
	grouped.reset(latency, 0)
	c, err := b.train(grouped, b.steps, mathRun, math...)
	if err != nil {
		return err
	}
	took, err := report(grouped, latency, "trinity run, math_workflow, a request for each task", c)
	if err != nil {
		return err
	}
	single.reset(latency, 0)
	if c, err = b.train(single, b.steps, gamesRun, games...); err != nil {
		return err
	}
	if _, err := report(single, latency, "trinity run, gem_workflow, a request for each sample", c); err != nil {
		return err
	}
	if b.python != "" {
		grouped.reset(latency, 0)
		if c, err = b.cookbook(grouped); err != nil {
			return err
		}
		if _, err := report(grouped, latency, "tinker-cookbook, math_rl, a request for each sample", c); err != nil {
			return err
		}
	}
	if took > limit {
		return fmt.Errorf("a step took %v; its longest chain of calls takes %v, and %v are allowed", took, ideal, limit)
	}
	return nil
}

// report prints the time of a step (the median without the first) and its number of calls.
func report(f *far, latency time.Duration, what string, c cost) (time.Duration, error) {
	all := f.intervals(1)
	if len(all) == 0 {
		return 0, fmt.Errorf("%s: %d optimizer steps", what, len(f.steps))
	}
	took, n := all[len(all)/2], len(f.steps)
	ideal := time.Duration(len(chain)) * latency
	fmt.Printf("| %v | %s | %.3f s (%.3f to %.3f) | %.3f × the chain of %d calls, %+.0f ms "+
		"| %d asample, %d retrieve_future | %.2f s | %d MiB |\n",
		latency, what, took.Seconds(), all[0].Seconds(), all[len(all)-1].Seconds(), float64(took)/float64(ideal),
		len(chain), float64(took-ideal)/1e6,
		f.calls["asample"]/n, f.calls["retrieve_future"]/n, c.cpu.Seconds()/float64(n), c.peak>>20)
	return took, nil
}

// cookbook runs tinker-cookbook's loop with as many tasks and repetitions.
func (b *bench) cookbook(f *far) (cost, error) {
	cmd := exec.Command(b.python, "-m", "tinker_cookbook.recipes.math_rl.train", "env=arithmetic",
		"model_name=examples/tiny/model", "renderer_name=qwen3_instruct", "max_tokens=40",
		"groups_per_batch=96", "group_size=8", "max_steps=5", "eval_every=0", "save_every=0",
		"log_path="+filepath.Join(b.folder(), "log"))
	cmd.Env = append(os.Environ(), "TINKER_BASE_URL="+f.url, "TINKER_API_KEY=tml-loop", "TINKER_TELEMETRY=0",
		"HF_HUB_OFFLINE=1", "WANDB_MODE=disabled")
	return measure(cmd)
}

// memory measures 10,000 rollouts of one request each, all sent before the first is answered.
func (b *bench) memory() error {
	const tasks, repeats, limit = 1250, 8, 1 << 30
	f, err := newFar(b.ctx, guess, b.folder())
	if err != nil {
		return err
	}
	defer f.close()
	f.reset(0, tasks*repeats)
	games, err := b.taskset(gamesFile, tasks)
	if err != nil {
		return err
	}
	c, err := b.train(f, 1, gamesRun, append(games, oneTurn)...)
	if err != nil {
		return err
	}
	fmt.Printf("%d rollouts in flight at a time, each a request: peak %d MiB\n", f.most, c.peak>>20)
	if f.most < tasks*repeats || c.peak > limit {
		return fmt.Errorf("%d rollouts in flight in %d MiB; want at least %d in at most %d MiB", f.most, c.peak>>20,
			tasks*repeats, limit>>20)
	}
	return nil
}
