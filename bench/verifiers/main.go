// Command verifiers runs environments of the newest verifiers, unmodified, in trinity run and trinity gem.
// Needs: Python 3.11 or newer and pip, or -python; for the harness null once a network; for six more -folder.
// Takes: about fifteen minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/internal/venv"
	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	python := flag.String("python", "", "a Python with verifiers, datasets, uv; \"\" makes one in bin/verifiers/venv")
	folder := flag.String("folder", "", "a copy of the package's repository, for six of its environments")
	flag.Parse()
	job.Main("verifiers", func(ctx context.Context) error { return verifiers(ctx, *python, *folder) })
}

func verifiers(ctx context.Context, python, folder string) error {
	root, err := os.Getwd()
	if err == nil && python == "" {
		python, err = venv.Python("bin/verifiers/venv", "verifiers", "datasets", "uv")
	}
	if err == nil {
		python, err = filepath.Abs(python)
	}
	if err == nil && folder != "" {
		folder, err = filepath.Abs(folder)
	}
	if err == nil { // which has uv
		err = os.Setenv("PATH", filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		return err
	}
	py := run.Python{Executable: python}
	problems := []error{plays(ctx, root, py, "reinforce"), plays(ctx, root, py, "grpo")}
	list := []environment{{"sums", "", "taskset: {split: test}"}}
	if folder != "" {
		home, rows, err := place(ctx, python)
		if err != nil {
			return err
		}
		defer os.RemoveAll(home)
		list = append(unmodified(rows), list...)
	}
	for _, e := range list {
		dir := filepath.Join(root, "examples/verifiers")
		if e.folder != "" { // not the repository itself, which has the sources of verifiers
			dir += string(os.PathListSeparator) + filepath.Join(folder, e.folder)
		}
		const taskset = "buffer.explorer_input.taskset."
		_, err := job.Carried(ctx, e.id, py, taskset+"default_workflow_type=verifiers_workflow",
			taskset+"path=verifiers:"+e.id, "model.max_prompt_tokens=600", taskset+"workflow_args={dir: '"+dir+
				"', limit: 16, timeout: 300, max_tokens: 600, concurrency: 2, "+e.args+"}")
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// plays holds that trinity gem plays the example by its env_id, exactly on policy, and the same each time.
func plays(ctx context.Context, root string, py run.Python, method string) error {
	play := func() ([]monitor.Line, error) {
		_, lines, err := job.Gem(ctx, run.Options{Python: py}, "wandb_name=g", "batch_size=8", "num_env=4",
			"max_steps=2", "save_every=2", "eval_every=0", "learning_rate=1e-3", "max_tokens=50", "seed=5",
			"group_size=2", "model_name=examples/tiny/model", "method="+method,
			"env_id=verifiers:sums?limit=8&dir="+filepath.Join(root, "examples/verifiers"))
		return lines, err
	}
	lines, err := play()
	if err != nil {
		return err
	}
	if _, err := job.Exact(lines); err != nil {
		return fmt.Errorf("trinity gem, %s: %w", method, err)
	}
	again, err := play()
	if err != nil {
		return err
	}
	if err := job.Same(again, lines); err != nil {
		return fmt.Errorf("trinity gem, %s, twice: %w", method, err)
	}
	for _, l := range lines {
		fmt.Printf("%s, step %d: gap 0, return %.3f\n", method, l.Step, l.Metrics["sampler/episode_return"])
	}
	return nil
}
