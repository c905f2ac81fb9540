// Command seeds runs the configurations of upstream's guides on the small Llama; writes docs/results/seeds.svg.
// Needs: nothing but Go.
// Takes: about forty minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	dir := flag.String("dir", "bin/seeds", "the `folder` of the jobs, which is made anew")
	steps := flag.Int("steps", 40, "steps of the two whole configurations; the others take at most 20")
	flag.Parse()
	job.Main("seeds", func(ctx context.Context) error { return seeds(ctx, *dir, *steps) })
}

const guide = "run/testdata/guide"

// seeds trains every configuration of upstream's guides, byte for byte as it stands there: the rewards of all must
// rise, and the two backends must end at the same one.
func seeds(ctx context.Context, dir string, steps int) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	rows := filepath.Join(dir, "rows")
	if err := job.Exec(ctx, "go", "run", "./examples/tiny/gen", "data", "-rows", "7473", "-out", rows); err != nil {
		return err
	}
	brief := min(steps, 20)
	ends, problems := map[string]float64{}, []error{}
	for _, c := range []struct {
		name, file, fragment string
		steps                int
	}{
		{"tinker", "tinker.yaml", "", steps},
		{"verl", "verl.yaml", "", steps},
		{"fragment", "tinker.yaml", "fragment.yaml", brief},
		{"fragment_readme", "tinker.yaml", "fragment_readme.yaml", brief},
		{"example", "example.yaml", "", brief},
	} {
		root := filepath.Join(dir, c.name)
		file, err := withFragment(filepath.Join(guide, c.file), c.fragment, root)
		if err != nil {
			return err
		}
		sum, err := train(ctx, file, root, rows, c.steps)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r := report(c.name, sum, c.steps)
		if !(r.last-r.first > 3*r.se) { // nor if there are too few steps for it
			problems = append(problems, fmt.Errorf("%s: the reward went from %.3f to %.3f, that is no more than 3 "+
				"standard errors of %.3f", c.name, r.first, r.last, r.se))
		}
		ends[c.name] = r.last
	}
	if a, b := ends["tinker"], ends["verl"]; math.Abs(a-b) > 0.05 {
		problems = append(problems, fmt.Errorf("the backends end at %.3f and %.3f, want them within 0.05", a, b))
	}
	const both = "Trinity-RFT-gsm8k/alignment-tinker/"
	return errors.Join(append(problems, job.Exec(ctx, "go", "run", "./cmd/trinity", "plot",
		filepath.Join(dir, "tinker", both+"tinker-llama3.2-3B-off1"),
		filepath.Join(dir, "verl", both+"verl-llama3.2-3B-lora-off1"), "-o", "docs/results/seeds.svg"))...)
}

// train runs a configuration of the guide with its jobs below root: the small Llama stands for the models that it
// names, and as many word problems as the steps take for GSM8K.
func train(ctx context.Context, file, root, rows string, steps int) (*console.Summary, error) {
	text, err := os.ReadFile(filepath.Join(rows, "train.jsonl"))
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	data := filepath.Join(root, "gsm8k")
	if err := os.MkdirAll(filepath.Join(data, "main"), 0o755); err != nil {
		return nil, err
	}
	some := strings.Join(lines[:min(96*steps, len(lines))], "")
	if err := os.WriteFile(filepath.Join(data, "main", "train.jsonl"), []byte(some), 0o644); err != nil {
		return nil, err
	}
	here := map[string]string{"openai/gsm8k": data, "meta-llama/Llama-3.2-3B": "examples/llama/model",
		"Qwen/Qwen3-4B-Instruct-2507": "examples/llama/model"}
	o := run.Options{
		LookupEnv: func(key string) (string, bool) {
			v, ok := map[string]string{"TRINITY_CHECKPOINT_ROOT_DIR": root}[key]
			return v, ok
		},
		Find: func(path string) string {
			if at, ok := here[path]; ok {
				return at
			}
			return path
		}}
	cfg, err := job.Job{File: file, Options: o}.Load()
	if err != nil {
		return nil, err
	}
	sum, err := job.Run(ctx, cfg, o)
	if err == nil && sum.Steps != steps {
		err = fmt.Errorf("%d steps, want %d", sum.Steps, steps)
	}
	return sum, err
}

// withFragment is a configuration with a fragment of the guides, byte for byte, in place of its own section
// model.tinker. Without a fragment it is the file itself.
func withFragment(file, fragment, dir string) (string, error) {
	if fragment == "" {
		return file, nil
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	part, err := os.ReadFile(filepath.Join(guide, fragment))
	if err != nil {
		return "", err
	}
	text := strings.Replace(string(whole), "  tinker:\n    enable: true\n", "", 1)
	text = strings.Replace(text, "\nmodel:\n", "\n"+string(part), 1)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fragment)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// rise is the mean reward of the first ten steps and of the last ten, and the standard error of the difference over
// steps.
type rise struct{ first, last, se float64 }

func report(name string, sum *console.Summary, n int) rise {
	first, va := tenSteps(sum, 1)
	last, vb := tenSteps(sum, n-9)
	r := rise{first, last, math.Sqrt((va + vb) / 10)}
	const length = "response_length/mean"
	fmt.Printf("%-16s %d steps in %.0f s  reward %.3f → %.3f (+%.3f ± %.3f)  accuracy %.3f → %.3f  length %.1f → "+
		"%.1f\n", name, n, float64(n)*sum.Mean("time/step", 1, n), r.first, r.last, r.last-r.first, r.se,
		sum.Mean(job.Accuracy, 1, 10), sum.Mean(job.Accuracy, n-9, n), sum.Mean(length, 1, 10),
		sum.Mean(length, n-9, n))
	return r
}

// tenSteps is the mean and the variance of the steps' rewards.
func tenSteps(s *console.Summary, from int) (mean, variance float64) {
	mean = s.Mean(job.Reward, from, from+9)
	for step := from; step < from+10; step++ {
		d := s.Mean(job.Reward, step, step) - mean
		variance += d * d / 9
	}
	return mean, variance
}
