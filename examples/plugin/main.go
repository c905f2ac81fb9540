// Command plugin is a program that trains with its own parts. What a Python program registers by decorators, it passes
// as values.
//
// It brings a workflow (asks the question twice, the second time with the first answer to check), a reward (short
// answers are better), an advantage (by rank instead of by value), an operator (drops repeated answers), a selector
// (last row first) and a monitor (one line of CSV per metric). Its configuration chooses them by name, like the
// built-in ones.
//
//	go run .
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run"
)

func main() {
	if err := train(os.Stdout, "checkpoints", os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func plugins() run.Plugins {
	return run.Plugins{
		Workflows:  map[string]workflow.Workflow{"twice_workflow": twice{}},
		Rewards:    map[string]reward.Func{"brief_reward": brief},
		Operators:  map[string]pipeline.Make{"drop_repeated": newDropRepeated},
		Advantages: map[string]func(algorithm.Args) (algorithm.Advantage, error){"rank": newRank},
		Selectors:  map[string]dataset.OpenSelector{"backwards": newBackwards},
		Monitors:   map[string]monitor.OpenSink{"csv": openCSV},
	}
}

// train runs the configuration beside this file; overrides change it.
func train(out io.Writer, dir string, overrides ...string) error {
	own := plugins()
	cfg, err := config.Load("plugin.yaml", append([]string{"checkpoint_root_dir=" + dir}, overrides...), os.LookupEnv,
		own.Names())
	if err != nil {
		return err
	}
	_, err = run.Run(context.Background(), cfg, run.Options{Out: out, LookupEnv: os.LookupEnv, Plugins: own})
	return err
}
