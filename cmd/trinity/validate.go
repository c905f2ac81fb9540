package main

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
)

type validateCmd struct {
	configFlags
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
	return nil
}
