package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
	"github.com/seed-d9ad8ee0/trinity/rl/env/openenv"
	"github.com/seed-d9ad8ee0/trinity/rl/env/pythonenv"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// gemCmd trains on environments; without a subcommand it is gem train.
type gemCmd struct {
	Train gemTrainCmd `cmd:"" default:"withargs" help:"Train a model on an environment: gem [key=value ...]."`
	Eval  gemEvalCmd  `cmd:"" help:"Evaluate a model, or the random player, on environments."`
	List  gemListCmd  `cmd:"" help:"List the environments with their parameters and needed data."`
	Play  gemPlayCmd  `cmd:"" help:"Play an environment in the terminal."`
}

// Help lists the keys.
func (gemCmd) Help() string { return gemKeys() }

type gemTrainCmd struct {
	Config string `short:"c" help:"A YAML file of keys and values; pairs here override it." placeholder:"FILE"`
	engineFlags
	Python string   `help:"The Python of python:… environments; else VIRTUAL_ENV's or python3." placeholder:"PATH"`
	Fleet  string   `help:"Address where workers (trinity worker) connect." placeholder:"HOST:PORT"`
	Pairs  []string `arg:"" optional:"" name:"key=value" help:"Overrides of the defaults, such as max_steps=20."`
}

// Help lists the keys.
func (gemTrainCmd) Help() string { return gemKeys() }

// Run implements the command.
func (c *gemTrainCmd) Run(s *surroundings) error {
	pairs, err := gemPairs(s, c.Config, c.Pairs)
	if err != nil {
		return usageError{err}
	}
	cfg := gem.Default()
	if err := errors.Join(cfg.SetAll(pairs), cfg.Validate()); err != nil {
		return usageError{err}
	}
	if err := gemNames(s, &cfg, cfg.EnvID); err != nil {
		return usageError{err}
	}
	o := s.options(c.Threads)
	o.Python = (&pythonFlags{Python: c.Python}).python(s)
	o.Order, o.Fleet = c.Order, c.Fleet
	err = run.Gem(s.ctx, pairs, o)
	if errors.Is(err, run.ErrInterrupted) {
		return nil
	}
	return err
}

// gemNames refuses unknown environments, wrappers and tools.
func gemNames(s *surroundings, c *gem.Config, ids ...string) error {
	registry, err := game.Registry(c.DataDir)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if pythonenv.Is(id) || openenv.Is(id) || verifiers.Is(id) {
			continue // looked up when Python runs, or at the server
		}
		if _, err := registry.Make(strings.TrimSpace(id), nil); err != nil {
			return err
		}
	}
	return c.CheckTools(tool.NewBox(tool.Options{LookupEnv: s.env}))
}

// gemPairs are the pairs of a file followed by those of the command line.
func gemPairs(s *surroundings, path string, given []string) ([]string, error) {
	if path == "" {
		return given, nil
	}
	data, err := disk.ReadFile(s.find(path), disk.SmallFile)
	if err != nil {
		return nil, err
	}
	pairs, err := gem.Pairs(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return append(pairs, given...), nil
}

// gemKeys is the list of keys with their defaults.
func gemKeys() string {
	var b strings.Builder
	b.WriteString("Keys and their defaults:\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	cfg := gem.Default()
	for _, k := range cfg.Keys() {
		fmt.Fprintf(w, "    %s=%s\t%s\n", k.Name, k.Value, k.Help)
	}
	w.Flush() // into memory
	return b.String()
}
