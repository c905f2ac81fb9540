// Command python-env trains the shipped player on the example environment in Python.
// Needs: python3.
// Takes: about seventeen minutes.
package main

import (
	"context"
	"flag"

	"github.com/seed-d9ad8ee0/trinity/bench/job"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	steps := flag.Int("steps", 20, "steps of each run; the bounds are for 20")
	flag.Parse()
	job.Main("python-env", func(ctx context.Context) error {
		return job.LearnsThrees(ctx, *steps, func() (string, run.Options, func()) {
			return "python:examples/python-env/threes.py:Threes", run.Options{}, func() {}
		})
	})
}
