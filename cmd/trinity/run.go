package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// configFlags are shared by the commands that read a configuration.
type configFlags struct {
	Config    string   `short:"c" required:"" help:"The YAML file, in Trinity-RFT's schema." placeholder:"FILE"`
	Overrides []string `arg:"" optional:"" name:"key=value" help:"Overrides, such as buffer.total_steps=10."`
}

func (c *configFlags) load(s *surroundings, names ...config.Names) (*config.Config, error) {
	return config.Load(s.find(c.Config), c.Overrides, s.env, append(names, run.Plugins{}.Names())...)
}

// pythonFlags are shared by the commands that run plug-ins in Python.
type pythonFlags struct {
	PluginDir []string `help:"Folders of Python plug-in files; TRINITY_PLUGIN_DIRS names them too." placeholder:"DIR"`
	Python    string   `help:"The Python of plug-in files; else that of VIRTUAL_ENV, else python3." placeholder:"PATH"`
}

// python is the Python of plug-in files and their folders.
func (c *pythonFlags) python(s *surroundings) run.Python {
	dirs := slices.Clone(c.PluginDir)
	if list, ok := s.env("TRINITY_PLUGIN_DIRS"); ok && len(dirs) == 0 {
		dirs = filepath.SplitList(list)
	}
	for i, dir := range dirs {
		dirs[i] = s.find(dir)
	}
	venv, _ := s.env("VIRTUAL_ENV")
	p := run.Python{Executable: python.Find(c.Python, venv), Dirs: dirs}
	if here, err := os.Getwd(); err == nil {
		p.Path = []string{here}
	}
	return p
}

// options connects a run to this process.
func (s *surroundings) options(threads int) run.Options {
	return run.Options{Out: s.out, Terminal: s.terminal, Stop: s.stop, LookupEnv: s.env, Threads: threads,
		Memory: machine.Memory(), Find: s.find, Hub: s.hub(), Cache: s.cacheDir, Ollama: s.ollama(), Sandboxes: true,
		Version: version()}
}

// engineFlags configure a job's local engine.
type engineFlags struct {
	Threads int    `help:"Threads of the local engine; 0 is all." default:"0"`
	Order   string `help:"Of a new job's sums: blocked or sequential." enum:"blocked,sequential," default:""`
}

type runCmd struct {
	configFlags
	pythonFlags
	DLC bool `name:"dlc" help:"Accepted for compatibility; there is no Ray cluster." hidden:""`
	engineFlags
	Studio   studioAddr `help:"Show the project's runs in a browser (--studio=HOST:PORT for another address)."`
	Rollouts string     `help:"Serve the URLs of rollouts here, for rollout_workflow." placeholder:"HOST:PORT"`
}

// Run implements the command.
func (c *runCmd) Run(s *surroundings) error {
	if c.DLC {
		fmt.Fprintln(s.err, "note: --dlc does not apply here")
	}
	py := c.python(s)
	cfg, err := c.load(s, py.Names())
	if err != nil {
		return err
	}
	o := s.options(c.Threads)
	o.Order, o.Python, o.Rollouts = c.Order, py, c.Rollouts
	if c.Studio != "" {
		defer beside(s, string(c.Studio), filepath.Join(cfg.CheckpointRoot, cfg.Project))()
	}
	_, err = run.Run(s.ctx, cfg, o)
	if errors.Is(err, run.ErrInterrupted) {
		return nil
	}
	return err
}
