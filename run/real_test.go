package run

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
)

var (
	realModel = flag.String("real.model", "", "TestReal: the model, a `folder` or GGUF file")
	realData  = flag.String("real.data", "", "TestReal: GSM8K, a `folder` with main/train.jsonl and main/test.jsonl")
	realDir   = flag.String("real.dir", "", "TestReal: the `folder` of its jobs, which a later call continues")
	realRest  = flag.Bool("real.rest", true, "TestReal: the control and two more seeds too")
)

// realProblems are GSM8K's test problems.
const realProblems = 1319

// TestReal trains a real model as examples/gsm8k/gsm8k.yaml says and evaluates it on all test problems: as it is, after
// each stage, and after a control whose rewards are shuffled within each group. Two more seeds share the first stage
// and are evaluated greedily. It takes many hours; every part of it resumes.
func TestReal(t *testing.T) {
	t.Parallel()
	if *realModel == "" || *realData == "" || *realDir == "" {
		t.Skip("trains a real model for hours: make real")
	}
	r := realRun{T: t}
	r.evaluate("base", "the model as it is")
	r.answers("before", *realModel)
	r.killed("seed1")
	r.train("seed1", options())
	r.evaluate("seed1/sft", "after SFT")
	r.evaluate("seed1/grpo", "after GRPO")
	r.compare("SFT over the model as it is", "base", "seed1/sft", "greedy", "sampled")
	r.compare("GRPO over SFT", "seed1/sft", "seed1/grpo", "greedy", "sampled")
	r.answers("after GRPO", r.folder("seed1", "grpo"))
	if !*realRest {
		return
	}
	control := options()
	control.score = func(a algorithm.Advantage) algorithm.Advantage { return shuffled{a} }
	r.share("control")
	r.train("control", control)
	r.evaluate("control/grpo", "after GRPO with shuffled rewards")
	r.compare("shuffled rewards over SFT", "seed1/sft", "control/grpo", "greedy", "sampled")
	r.compare("GRPO over shuffled rewards", "control/grpo", "seed1/grpo", "greedy", "sampled")
	r.repeats("again", "seed1")
	r.greedy = true
	for _, seed := range []string{"2", "3"} {
		name := "seed" + seed
		r.share(name)
		r.train(name, options(), "seed="+seed, "buffer.explorer_input.taskset.data_selector.seed="+seed,
			"buffer.explorer_input.eval_tasksets=[]") // which would be sampled too
		r.evaluate(name+"/grpo", "after GRPO, seed "+seed, "seed="+seed)
		r.compare("GRPO over SFT, seed "+seed, "seed1/sft", name+"/grpo", "greedy")
	}
}

type realRun struct {
	*testing.T
	greedy bool // evaluations are
}

// config reads the example with a job's name.
func (r realRun) config(name string, overrides ...string) *config.Config {
	r.Helper()
	env := map[string]string{"TRINITY_MODEL_PATH": *realModel, "TRINITY_TASKSET_PATH": *realData,
		"TRINITY_CHECKPOINT_ROOT_DIR": *realDir}
	lookup := func(key string) (string, bool) {
		v, ok := env[key]
		return v, ok
	}
	cfg, err := config.Load("../examples/gsm8k/gsm8k.yaml", append([]string{"name=" + name}, overrides...), lookup)
	if err != nil {
		r.Fatal(err)
	}
	if sets := &cfg.Buffer.ExplorerInput.EvalTasksets; r.greedy && len(*sets) > 1 {
		*sets = (*sets)[:1]
	}
	return cfg
}

func (r realRun) folder(names ...string) string {
	return filepath.Join(append([]string{*realDir, "trinity-gsm8k"}, names...)...)
}

// train runs both stages of a job, or what is left of them.
func (r realRun) train(name string, o Options, overrides ...string) {
	r.Helper()
	var out bytes.Buffer
	o.Out, o.Cache = &out, filepath.Join(*realDir, "cache")
	stop := r.clock(name)
	sum, err := Run(context.Background(), r.config(name, overrides...), o)
	stop()
	if err != nil {
		r.Fatalf("%s: %v\n%s", name, err, out.String())
	}
	n, sft := sum.Steps, r.lines(name+"/sft")
	r.Logf("%s: %d steps of SFT in %.2f h, %.0f tokens; %d steps of GRPO in %.2f h, %.0f tokens trained: reward %.3f "+
		"→ %.3f (first and last 5 steps), %.0f tokens/s sampled, %.0f trained; %.2f h in all calls", name, len(sft),
		hours(sft), total(sft, tokensKey), n, hours(sum.Lines), total(sum.Lines, tokensKey), sum.Mean(rewardKey, 1, 5),
		sum.Mean(rewardKey, n-4, n), sum.Mean("perf/sampled_tokens_per_second", 1, n),
		sum.Mean("perf/train_tokens_per_second", 1, n), r.seconds(name+"-seconds")/3600)
	r.exact(name, sum.Lines)
}

// exact checks that the log-probabilities of sampler and trainer are the same bits wherever all samples of a step are
// of the weights that it begins with. Steps that finish a batch of older ones measure how far the weights have come.
func (r realRun) exact(name string, lines []monitor.Line) {
	r.Helper()
	equal, furthest := 0, 0.0
	for _, line := range lines {
		gap, measured := line.Metrics["train/kl_sample_train_v1"]
		current := line.Metrics["sample/model_version/min"] == float64(line.Step-1)
		if !measured || current && gap != 0 {
			r.Errorf("%s, step %d: the sampler's and the trainer's log-probabilities differ by %v (measured: %v)", name,
				line.Step, gap, measured)
		}
		if current {
			equal++
		}
		furthest = max(furthest, math.Abs(gap))
	}
	if equal == 0 {
		r.Errorf("%s: no step has samples of the newest weights alone", name)
	}
	r.Logf("%s: in %d of %d steps all samples are of the newest weights, and their log-probabilities are equal to "+
		"the bit; in the others the mean log-ratio is at most %.1g", name, equal, len(lines), furthest)
}

const tokensKey = "perf/total_num_tokens"

// share begins a job with the first stage of another, which is over.
func (r realRun) share(name string) {
	r.Helper()
	if _, err := os.Stat(r.folder(name)); err == nil {
		return
	}
	const stages = "stage_meta.json"
	tmp := r.folder(name + ".copy")
	err := errors.Join(os.RemoveAll(tmp), os.CopyFS(filepath.Join(tmp, "sft"), os.DirFS(r.folder("seed1", "sft"))))
	raw, rerr := os.ReadFile(r.folder("seed1", stages))
	if err = errors.Join(err, rerr); err == nil {
		err = os.WriteFile(filepath.Join(tmp, stages), raw, 0o644)
	}
	if err == nil {
		err = os.Rename(tmp, r.folder(name))
	}
	if err != nil {
		r.Fatal(err)
	}
}

// evaluate prints the accuracy of a job's last state on all test problems, greedy and sampled. A job that has made all
// its steps has evaluated it, with the draws that mode bench has.
func (r realRun) evaluate(name, what string, overrides ...string) {
	r.Helper()
	m, ok := r.evaluated(name)
	if !ok {
		args := append([]string{"mode=bench", "stages=[]"}, overrides...)
		if name != "base" {
			args = append(args, "explorer.bench_on_latest_checkpoint=true")
		}
		var out bytes.Buffer
		o := options()
		o.Out, o.Cache = &out, filepath.Join(*realDir, "cache")
		stop := r.clock(name + "-evaluation")
		_, err := Run(context.Background(), r.config(name, args...), o)
		if stop(); err != nil {
			r.Fatalf("%s: %v\n%s", name, err, out.String())
		}
		if m, ok = r.evaluated(name); !ok {
			r.Fatalf("%s has no evaluation", name)
		}
	}
	text := fmt.Sprintf("%s: greedy %s", what, interval(m["greedy/accuracy/mean@1"], realProblems))
	if mean, ok := m["sampled/accuracy/mean@4"]; ok {
		text += ", mean@4 " + interval(mean, realProblems)
	}
	if n := r.seconds(name + "-evaluation-seconds"); n > 0 { // else the job's own, at its end
		text += fmt.Sprintf(" in %.2f h", n/3600)
	}
	r.Logf("%s, of %d problems (95 %% intervals)", text, realProblems)
}

// evaluated reads a job's evaluation, by mode bench or at its end.
func (r realRun) evaluated(name string) (monitor.Metrics, bool) {
	r.Helper()
	for prefix, file := range map[string]string{"bench/": "metrics-benchmark.jsonl", "eval/": "metrics.jsonl"} {
		lines := r.logged(name, file)
		if len(lines) == 0 {
			continue
		}
		found := monitor.Metrics{}
		for key, v := range lines[len(lines)-1].Metrics {
			if rest, ok := strings.CutPrefix(key, prefix); ok {
				found[rest] = v
			}
		}
		if len(found) > 0 {
			return found, true
		}
	}
	return nil, false
}

// lines reads a stage's metrics, which do not exist before its first step.
func (r realRun) lines(stage string) []monitor.Line { return r.logged(stage, "metrics.jsonl") }

func (r realRun) logged(stage, file string) []monitor.Line {
	r.Helper()
	path := r.folder(filepath.FromSlash(stage), file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lines, err := monitor.ReadLog(path)
	if err != nil {
		r.Fatal(err)
	}
	return lines
}
