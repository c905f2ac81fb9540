package main

import (
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// configFlags are shared by the commands that read a configuration.
type configFlags struct {
	Config    string   `short:"c" required:"" help:"The YAML file, in Trinity-RFT's schema." placeholder:"FILE"`
	Overrides []string `arg:"" optional:"" name:"key=value" help:"Overrides, such as buffer.total_steps=10."`
}

func (c *configFlags) load(s *surroundings) (*config.Config, error) {
	return config.Load(s.find(c.Config), c.Overrides, s.env)
}

// options are what a run gets from this process.
func (s *surroundings) options(threads int) run.Options {
	return run.Options{Out: s.out, Terminal: s.terminal, Stop: s.stop, LookupEnv: s.env, Threads: threads,
		Find: s.find, Hub: s.hub(), Cache: s.cacheDir, Ollama: s.ollama(), Sandboxes: true}
}

type runCmd struct {
	configFlags
	PluginDir string `help:"Accepted for compatibility; plug-ins are Go packages here." placeholder:"DIR" hidden:""`
	DLC       bool   `name:"dlc" help:"Accepted for compatibility; there is no Ray cluster." hidden:""`
	Threads   int    `help:"Threads of the local engine; 0 is all." default:"0"`
	Rollouts  string `help:"Serve the URLs of rollouts here, for rollout_workflow." placeholder:"HOST:PORT"`
}

// Run implements the command.
func (c *runCmd) Run(s *surroundings) error {
	if c.PluginDir != "" || c.DLC {
		fmt.Fprintln(s.err, "note: --plugin-dir and --dlc do not apply here")
	}
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	o := s.options(c.Threads)
	o.Rollouts = c.Rollouts
	_, err = run.Run(s.ctx, cfg, o)
	if errors.Is(err, run.ErrInterrupted) {
		return nil
	}
	return err
}
