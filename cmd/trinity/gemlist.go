package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/env/game"
)

// gemData is where environments find data that the program does not carry.
type gemData struct {
	Data string `help:"A folder with en-basic, en, words_clues.jsonl or wiki.jsonl for the games that draw from them." placeholder:"DIR"`
}

// registry is the registry of all environments with the data of the folder.
func (d gemData) registry() (*env.Registry, error) {
	words, err := game.Shipped()
	if d.Data != "" {
		if _, err := os.Stat(d.Data); err != nil {
			return nil, usageError{fmt.Errorf("--data: %w", err)}
		}
		words, err = game.Load(os.DirFS(d.Data))
	}
	if err != nil {
		return nil, err
	}
	return env.NewRegistry(game.Table(words))
}

type gemListCmd struct {
	gemData
	Match string `arg:"" optional:"" help:"Show only ids that contain this."`
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
