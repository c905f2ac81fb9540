// Command algorithms trains the tiny example with every algorithm; writes the table in docs/results/algorithms.md.
// Needs: nothing but Go.
// Takes: about forty minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
)

func main() {
	only := flag.String("only", "", "these algorithms, with commas between; the others' rows stay as they are")
	more := flag.String("overrides", "", "further overrides of every run, with spaces between; the table stays")
	flag.Parse()
	names := slices.Sorted(maps.Keys(recipe.All()))
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	job.Main("algorithms", func(ctx context.Context) error {
		var problems []error
		for _, name := range names {
			line, err := train(ctx, name, strings.Fields(*more))
			if line == "" {
				return errors.Join(append(problems, err)...)
			}
			problems = append(problems, err)
			if *more != "" {
				continue
			}
			if err := writeRow(name, line); err != nil {
				return err
			}
		}
		return errors.Join(problems...)
	})
}

// brief has the overrides of most algorithms: 20 steps of 8 problems, held-out accuracy before and after.
func brief(more ...string) []string {
	return append([]string{"seed=1", "buffer.batch_size=8", "buffer.total_steps=20", "trainer.total_steps=20",
		"explorer.eval_interval=20", "trainer.save_interval=0"}, more...)
}

// own is the example of an algorithm and what is changed of it, as one would write it after the command.
func own(name string) (file string, overrides []string) {
	const folder = "examples/tiny/algorithms/"
	switch name {
	case "sft", "dpo":
		return folder + name + ".yaml", []string{"seed=1"}
	case "cpt": // on the expert's solutions as texts
		return folder + "sft.yaml", []string{"seed=1",
			"buffer.trainer_input.experience_buffer.format={prompt_type: plaintext, prompt_key: response}"}
	case "mix", "mix_chord":
		return folder + "mix.yaml", brief("buffer.train_batch_size=80")
	case "on_policy_distill", "jsd":
		return folder + "on_policy_distill.yaml", brief()
	case "raft": // trains on what was right
		return example, brief("buffer.train_batch_size=16", "trainer.total_steps=40",
			"data_processor.experience_pipeline.operators=[{name: reward_filter, args: {threshold: 1.0}}]")
	case "ppo":
		return folder + "ppo.yaml", []string{"seed=1", "algorithm.advantage_fn_args={critic_warmup: 16}"}
	}
	return example, brief()
}

const example = "examples/tiny/gsm8k.yaml"

// train trains with an algorithm and prints and returns what it came to, "" if the run failed. The error is also that
// it did not learn.
func train(ctx context.Context, name string, more []string) (line string, err error) {
	dir, err := os.MkdirTemp("", "trinity-algorithms-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file, overrides := own(name)
	overrides = append(append([]string{"algorithm.algorithm_type=" + name, "algorithm.policy_loss_fn_args=null",
		"algorithm.advantage_fn_args=null"}, overrides...), more...)
	begin := time.Now()
	sum, err := job.Job{File: file, Dir: dir, Overrides: overrides}.Run(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	line, learned := outcome(name, sum)
	if name == "sft" || name == "dpo" { // whose runs sample nothing
		better := false
		if line, better, err = examined(ctx, dir, name, line); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		learned = learned && better
	}
	fmt.Printf("%s: %s in %.0f s\n", name, line, time.Since(begin).Seconds())
	if !learned {
		err = fmt.Errorf("%s did not learn: %s", name, line)
	}
	return line, err
}

// examined adds to an outcome how a trained job does on the held-out problems of the other algorithms: mode bench
// samples from the model as it was and from the last state.
func examined(ctx context.Context, dir, name, line string) (string, bool, error) {
	sum, err := job.Job{File: example, Dir: dir, Overrides: []string{"seed=1", "mode=bench", "name=" + name}}.Run(ctx)
	if err != nil {
		return "", false, err
	}
	a, b, err := job.Ends(sum, strings.Replace(job.HeldOut, "eval/", "bench/", 1))
	return fmt.Sprintf("held-out accuracy %.3f → %.3f, %s", a, b, line), b > a+0.1, err
}

// outcome says in a line what a run came to.
func outcome(name string, sum *console.Summary) (line string, learned bool) {
	last := len(sum.Lines) - 1
	n := sum.Lines[last].Step
	between := func(key string) (first, end float64) { return sum.Mean(key, 1, 4), sum.Mean(key, n-3, n) }
	switch name {
	case "sft", "cpt":
		a, b := between("actor/sft_loss")
		return fmt.Sprintf("loss on rows not seen before %.3f → %.3f, %d steps", a, b, n), b < 0.7*a
	case "dpo":
		a, b := between("actor/dpo_loss")
		c, d := between("actor/accuracy_mean")
		return fmt.Sprintf("loss on pairs not seen before %.3f → %.3f, pairs told apart %.2f → %.2f, %d steps", a, b, c,
			d, n), b < 0.8*a && d > 0.9
	}
	a, b, _ := sum.Ends(job.HeldOut)
	line = fmt.Sprintf("held-out accuracy %.3f → %.3f, %d steps", a, b, n)
	if v, ok := sum.Lines[last].Metrics["critic/vf_explained_var"]; ok {
		best := v
		for _, l := range sum.Lines[1:] {
			best = max(best, l.Metrics["critic/vf_explained_var"])
		}
		line += fmt.Sprintf(", explained variance %.2f → up to %.2f", sum.Lines[1].Metrics["critic/vf_explained_var"],
			best)
	}
	return line, b > a+0.1
}
