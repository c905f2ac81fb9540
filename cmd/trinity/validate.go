package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/run"
)

type validateCmd struct {
	configFlags
	pythonFlags
	NoEstimate bool `help:"Skip the estimate, which loads and measures the model."`
}

// Run implements the command: all checks that trinity run makes before its first sample, and an estimate of its cost.
func (c *validateCmd) Run(s *surroundings) error {
	py := c.python(s)
	cfg, err := c.load(s, py.Names())
	if err != nil {
		return err
	}
	ctx, cancel := s.untilStop()
	defer cancel()
	in, err := run.Inspect(ctx, cfg, run.Options{LookupEnv: s.env, Find: s.find, Hub: s.cachedHub(),
		Cache: s.cacheDir, Ollama: s.ollama(), Stop: s.stop, Python: py})
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, cfg.Resolved())
	for _, note := range cfg.Notes() {
		fmt.Fprintln(s.out, "# note:", note)
	}
	for _, part := range in.Parts() {
		err = errors.Join(err, c.report(ctx, s, part))
	}
	return errors.Join(err, in.Close())
}

// report prints what could not be checked of a configuration or a stage, and its estimate.
func (c *validateCmd) report(ctx context.Context, s *surroundings, in *run.Inspection) error {
	if in.Stage != "" {
		fmt.Fprintln(s.out, "# stage", in.Stage)
	}
	fmt.Fprintln(s.out, "#", in.Backend.Reason)
	for _, note := range in.Notes {
		fmt.Fprintln(s.out, "# note:", note)
	}
	for _, unknown := range in.Unknown {
		fmt.Fprintln(s.out, "# not downloaded yet, so not checked:", strings.ReplaceAll(unknown, "\n", " "))
	}
	if c.NoEstimate {
		return nil
	}
	budget, err := in.Estimate(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		fmt.Fprintln(s.out, "# no estimate:", strings.ReplaceAll(err.Error(), "\n", " "))
		return nil
	}
	for line := range strings.Lines(budget.String()) {
		fmt.Fprint(s.out, "# ", line)
	}
	return nil
}
