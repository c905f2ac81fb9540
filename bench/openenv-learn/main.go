// Command openenv-learn trains the shipped player on the example server of OpenEnv, or compares it with the one in Go.
// Needs: nothing but Go; with -python a Python with the package openenv.
// Takes: about twenty minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv/openenvtest"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	steps := flag.Int("steps", 20, "steps of each run; the bounds are for 20")
	python := flag.String("python", "", "a Python with openenv, whose real server plays; \"\" is a server in Go")
	compare := flag.Bool("compare", false, "instead, compare three steps on the real server with the one in Go")
	flag.Parse()
	job.Main("openenv-learn", func(ctx context.Context) error {
		if *compare {
			return same(ctx, *python)
		}
		return job.LearnsThrees(ctx, *steps, func() (string, run.Options, func()) {
			if *python != "" {
				return realServer(*python)
			}
			return goServer()
		})
	})
}

const template = "template=examples/openenv/template.yaml"

func goServer() (id string, o run.Options, done func()) {
	s := openenvtest.New(openenvtest.Options{})
	s.Server = httptest.NewServer(s)
	return s.ID(template), run.Options{}, s.Stop
}

// realServer is the example's, which the run starts.
func realServer(python string) (id string, o run.Options, done func()) {
	if abs, err := filepath.Abs(python); err == nil {
		python = abs
	}
	return "openenv:examples/openenv?" + template, run.Options{Python: run.Python{Executable: python}}, func() {}
}

// same holds that the real server gives the metrics of the one in Go, to the last bit.
func same(ctx context.Context, python string) error {
	if python == "" {
		return errors.New("-compare needs the real server: name a Python with the package openenv by -python")
	}
	play := func(id string, o run.Options, done func()) ([]monitor.Line, error) {
		defer done()
		_, lines, err := job.Gem(ctx, o, "env_id="+id, "wandb_name=g", "batch_size=8", "num_env=4", "max_steps=3",
			"save_every=2", "eval_every=0", "learning_rate=1e-3", "max_tokens=12", "seed=5", "group_size=4",
			"method=grpo")
		return lines, err
	}
	want, err := play(goServer())
	if err != nil {
		return err
	}
	got, err := play(realServer(python))
	if err != nil {
		return err
	}
	if _, err := job.Exact(got); err != nil {
		return err
	}
	if err := job.Same(got, want); err != nil {
		return fmt.Errorf("the real server and the one in Go: %w", err)
	}
	fmt.Printf("%d steps on the real server: gap 0, and the metrics of the server in Go to the last bit\n", len(got))
	return nil
}
