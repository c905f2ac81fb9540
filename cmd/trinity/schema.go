package main

import (
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run"
)

type schemaCmd struct{}

// Run implements the command: the JSON Schema of a configuration file, for editors.
func (c *schemaCmd) Run(s *surroundings) error {
	_, err := s.out.Write(config.Schema(run.Plugins{}.Names()))
	return err
}
