// Command real trains SmolLM2-135M-Instruct on GSM8K with a control and two more seeds, and evaluates each.
// Needs: GSM8K, in the folder -data; pip, for the model.
// Takes: days; every part continues, and the report is whole each time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	data := flag.String("data", "bin/real/data/main", "the `folder` with GSM8K's train.jsonl and test.jsonl")
	rest := flag.Bool("rest", true, "the control and two more seeds too")
	flag.Parse()
	job.Main("real", func(ctx context.Context) error {
		x, err := open(ctx, *data)
		if err != nil {
			return err
		}
		return x.all(ctx, *rest)
	})
}

// testProblems are GSM8K's test problems.
const testProblems = 1319

// experiment trains the example and evaluates it on all test problems: as it is, after each stage, and after a control
// whose advantages are shuffled within each group. Two more seeds share the first stage and are evaluated greedily.
type experiment struct {
	job.Real
	greedy   bool    // evaluations are
	problems []error // promises that did not hold
}

// open puts the model and the data below bin/real. The folder data has train.jsonl and test.jsonl.
func open(ctx context.Context, data string) (*experiment, error) {
	const all = "bin/real/data"
	if err := os.MkdirAll(all+"/main", 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"train.jsonl", "test.jsonl"} {
		text, err := os.ReadFile(filepath.Join(data, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(all, "main", name), text, 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("%w; name by -data a folder with train.jsonl and test.jsonl of "+
				"openai/grade-school-math", err)
		}
	}
	path, err := filepath.Abs(all)
	if err != nil {
		return nil, err
	}
	r, err := job.OpenReal(ctx, "bin/real", path, "examples/gsm8k/gsm8k.yaml", "trinity-gsm8k")
	return &experiment{Real: r}, err
}

// part is a part of the experiment. What an earlier call has made of it is not made again.
type part func(context.Context) error

func (x *experiment) all(ctx context.Context, rest bool) error {
	parts := []part{
		x.evaluate("base", "the model as it is"),
		x.answers("before", x.Model),
		x.killed("seed1"),
		x.train("seed1", run.Plugins{}),
		x.evaluate("seed1/sft", "after SFT"),
		x.evaluate("seed1/grpo", "after GRPO"),
		x.compare("SFT over the model as it is", "base", "seed1/sft", "greedy", "sampled"),
		x.compare("GRPO over SFT", "seed1/sft", "seed1/grpo", "greedy", "sampled"),
		x.answers("after GRPO", x.Folder("seed1", "grpo")),
	}
	if rest {
		parts = append(parts, x.rest()...)
	}
	for _, p := range parts {
		if err := p(ctx); err != nil {
			return errors.Join(append(x.problems, err)...)
		}
	}
	return errors.Join(x.problems...)
}

func (x *experiment) rest() []part {
	parts := []part{
		x.share("control"),
		x.train("control", job.Shuffled()),
		x.evaluate("control/grpo", "after GRPO with shuffled rewards"),
		x.compare("shuffled rewards over SFT", "seed1/sft", "control/grpo", "greedy", "sampled"),
		x.compare("GRPO over shuffled rewards", "control/grpo", "seed1/grpo", "greedy", "sampled"),
		x.repeats("again", "seed1"),
		func(context.Context) error { x.greedy = true; return nil },
	}
	for _, seed := range []string{"2", "3"} {
		name := "seed" + seed
		parts = append(parts,
			x.share(name),
			x.train(name, run.Plugins{}, "seed="+seed, "buffer.explorer_input.taskset.data_selector.seed="+seed,
				"buffer.explorer_input.eval_tasksets=[]"), // which would be sampled too
			x.evaluate(name+"/grpo", "after GRPO, seed "+seed, "seed="+seed),
			x.compare("GRPO over SFT, seed "+seed, "seed1/sft", name+"/grpo", "greedy"))
	}
	return parts
}

// train runs both stages of a job, or what is left of them.
func (x *experiment) train(name string, plugins run.Plugins, overrides ...string) part {
	return func(ctx context.Context) error {
		j := x.Job(name, overrides...)
		j.Options.Plugins = plugins
		stop := x.clock(name)
		sum, err := j.Run(ctx)
		if err = errors.Join(err, stop()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sft, err := x.Lines(name + "/sft")
		if err != nil {
			return err
		}
		spent, err := x.seconds(name)
		if err != nil {
			return err
		}
		n := sum.Steps
		fmt.Printf("%s: %d steps of SFT in %.2f h, %.0f tokens; %d steps of GRPO in %.2f h, %.0f tokens trained: "+
			"reward %.3f → %.3f (first and last 5 steps), %.0f tokens/s sampled, %.0f trained; %.2f h in all calls\n",
			name, len(sft), hours(sft), total(sft, tokensKey), n, hours(sum.Lines), total(sum.Lines, tokensKey),
			sum.Mean(job.Reward, 1, 5), sum.Mean(job.Reward, n-4, n), sum.Mean("perf/sampled_tokens_per_second", 1, n),
			sum.Mean("perf/train_tokens_per_second", 1, n), spent/3600)
		x.exact(name, sum.Lines)
		return nil
	}
}

// exact checks that the log-probabilities of sampler and trainer are the same bits wherever all samples of a step are
// of the weights that it begins with. Steps that finish a batch of older ones measure how far the weights have come.
func (x *experiment) exact(name string, lines []monitor.Line) {
	equal, furthest := 0, 0.0
	for _, line := range lines {
		gap, measured := line.Metrics["train/kl_sample_train_v1"]
		current := line.Metrics["sample/model_version/min"] == float64(line.Step-1)
		if !measured || current && gap != 0 {
			x.problems = append(x.problems, fmt.Errorf("%s, step %d: the log-probabilities of sampler and trainer "+
				"differ by %v (measured: %v)", name, line.Step, gap, measured))
		}
		if current {
			equal++
		}
		furthest = max(furthest, math.Abs(gap))
	}
	if equal == 0 {
		x.problems = append(x.problems, fmt.Errorf("%s: no step has samples of the newest weights alone", name))
	}
	fmt.Printf("%s: in %d of %d steps all samples are of the newest weights, and their log-probabilities are equal to "+
		"the bit; in the others the mean log-ratio is at most %.1g\n", name, equal, len(lines), furthest)
}

// share begins a job with the first stage of seed1, which is over.
func (x *experiment) share(name string) part {
	return func(context.Context) error { return x.Share("seed1", "sft", name) }
}

// evaluate prints the accuracy of a job's last state on all test problems, greedy and sampled. A job that has made all
// its steps has evaluated it, with the draws that mode bench has.
func (x *experiment) evaluate(name, what string, overrides ...string) part {
	return func(ctx context.Context) error {
		m, err := x.Evaluated(name)
		if err == nil && m == nil {
			if err = x.bench(ctx, name, overrides...); err == nil {
				m, err = x.Evaluated(name)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if m == nil {
			return fmt.Errorf("%s has no evaluation", name)
		}
		text := fmt.Sprintf("%s: greedy %s", what, job.Interval(m["greedy/accuracy/mean@1"], testProblems))
		if mean, ok := m["sampled/accuracy/mean@4"]; ok {
			text += ", mean@4 " + job.Interval(mean, testProblems)
		}
		n, err := x.seconds(name + "-evaluation")
		if n > 0 { // else the job's own, at its end
			text += fmt.Sprintf(" in %.2f h", n/3600)
		}
		fmt.Printf("%s, of %d problems (95 %% intervals)\n", text, testProblems)
		return err
	}
}

// bench evaluates a job's last state by mode bench.
func (x *experiment) bench(ctx context.Context, name string, overrides ...string) error {
	args := append([]string{"mode=bench", "stages=[]"}, overrides...)
	if name != "base" {
		args = append(args, "explorer.bench_on_latest_checkpoint=true")
	}
	j := x.Job(name, args...)
	cfg, err := j.Load()
	if err != nil {
		return err
	}
	if sets := &cfg.Buffer.ExplorerInput.EvalTasksets; x.greedy && len(*sets) > 1 {
		*sets = (*sets)[:1]
	}
	stop := x.clock(name + "-evaluation")
	_, err = job.Run(ctx, cfg, j.Options)
	return errors.Join(err, stop())
}
