package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
)

// gemData says where environments find data that the program does not carry.
type gemData struct {
	Data string `help:"A folder with en-basic, en, words_clues.jsonl or wiki.jsonl." placeholder:"DIR"`
}

// registry has all environments, with the folder's data.
func (d gemData) registry() (*env.Registry, error) {
	registry, err := game.Registry(d.Data)
	if err != nil {
		return nil, usageError{err}
	}
	return registry, nil
}

type gemListCmd struct {
	gemData
	Match string `arg:"" optional:"" help:"Show only ids that contain this text."`
}

// Run implements the command.
func (c *gemListCmd) Run(s *surroundings) error {
	registry, err := c.registry()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, spec := range registry.Specs() {
		if !strings.Contains(strings.ToLower(spec.ID), strings.ToLower(c.Match)) {
			continue
		}
		remarks := spec.Note
		if spec.Needs != "" {
			remarks = strings.TrimPrefix(remarks+"; needs "+spec.Needs, "; ")
		}
		fmt.Fprintf(w, "%s\t%v\t%s\n", spec.ID, spec.Params, remarks)
	}
	return w.Flush()
}
