package main

import (
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run"
)

type validateCmd struct {
	configFlags
	NoEstimate bool `help:"Leave out what the run would take, which loads and measures the model."`
}

// Run implements the command.
func (c *validateCmd) Run(s *surroundings) error {
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	backend, err := config.ChooseBackend(cfg, s.env)
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, cfg.Resolved())
	fmt.Fprintln(s.out, "#", backend.Reason)
	for _, note := range cfg.Notes() {
		fmt.Fprintln(s.out, "# note:", note)
	}
	return c.estimate(s, cfg)
}

// estimate prints what the run would take. That a model or data set is not here yet is no mistake of the configuration.
func (c *validateCmd) estimate(s *surroundings, cfg *config.Config) error {
	if c.NoEstimate {
		return nil
	}
	budget, err := run.Estimate(s.ctx, cfg, run.Options{LookupEnv: s.env, Find: s.find, Hub: s.cachedHub(), Stop: s.stop})
	if err != nil {
		fmt.Fprintln(s.out, "# what it takes is not known:", strings.ReplaceAll(err.Error(), "\n", " "))
		return nil
	}
	for line := range strings.Lines(budget.String()) {
		fmt.Fprint(s.out, "# ", line)
	}
	return nil
}
