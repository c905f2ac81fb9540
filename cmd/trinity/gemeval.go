package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/run"
)

type gemEvalCmd struct {
	Run_    string   `name:"run" help:"A run's folder; its last weights play instead of the model." placeholder:"DIR"`
	Random  bool     `help:"Let the random player play, without a model."`
	JSON    bool     `name:"json" help:"Print JSON."`
	Config  string   `short:"c" help:"A YAML file of keys and values; pairs here override it." placeholder:"FILE"`
	Threads int      `help:"Threads of the local engine; 0 is all." default:"0"`
	Python  string   `help:"The Python of python:… environments; else VIRTUAL_ENV's or python3." placeholder:"PATH"`
	Pairs   []string `arg:"" optional:"" name:"key=value" help:"As for trinity gem; env_id may be a list: a,b."`
}

// Run implements the command.
func (c *gemEvalCmd) Run(s *surroundings) error {
	pairs, err := gemPairs(s, c.Config, c.Pairs)
	if err != nil {
		return usageError{err}
	}
	cfg := gem.Default()
	if err := cfg.SetAll(pairs); err != nil {
		return usageError{err}
	}
	if err := gemNames(s, &cfg, strings.Split(cfg.EnvID, ",")...); err != nil {
		return usageError{err}
	}
	x := run.GemEvaluation{Pairs: pairs, Run: c.Run_, Random: c.Random}
	notes := s.out
	if c.JSON {
		notes = s.err
	} else {
		head := sync.OnceFunc(func() {
			fmt.Fprintf(s.out, "%-36s %8s %17s %15s %17s\n", "environment", "episodes", "return", "turns", "success")
		})
		x.Each = func(r gem.Result) { head(); printResult(s.out, r) }
	}
	s.nothingToSave()
	options := s.options(c.Threads)
	options.Out, options.Terminal = notes, false
	options.Python = (&pythonFlags{Python: c.Python}).python(s)
	results, err := x.Evaluate(s.ctx, options)
	if errors.Is(err, run.ErrInterrupted) {
		fmt.Fprintln(s.err, "stopped; the environments above are complete")
		return nil
	}
	if err != nil || !c.JSON {
		return err
	}
	return printJSON(s.out, results)
}

// printResult prints one line of means and standard errors.
func printResult(w io.Writer, r gem.Result) {
	fmt.Fprintf(w, "%-36s %8d %9.3f ± %.3f %8.2f ± %.2f %9.3f ± %.3f", r.EnvID, r.Episodes,
		r.Return, r.ReturnSE, r.Turns, r.TurnsSE, r.Success, r.SuccessSE)
	if r.Failed > 0 {
		fmt.Fprintf(w, "  (%d failed)", r.Failed)
	}
	fmt.Fprintln(w)
}
