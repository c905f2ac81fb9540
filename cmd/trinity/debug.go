package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/run"
)

// debugCmd has Trinity-RFT's flags.
type debugCmd struct {
	configFlags
	Module           string `short:"m" required:"" help:"What to try: prompt shows the first prompt as the model reads it; workflow runs one task and shows all of it; inference_model serves the model until Ctrl-C." enum:"prompt,workflow,inference_model" placeholder:"NAME"`
	OutputDir        string `short:"o" help:"Where the experiences and the log go." default:"debug_output" placeholder:"DIR"`
	DisableOverwrite bool   `help:"Use DIR_<time> if DIR is not empty."`
	Addr             string `help:"Where inference_model serves." default:"127.0.0.1:8000"`
	PluginDir        string `help:"Accepted for Trinity-RFT's sake." placeholder:"DIR" hidden:""`
	EnableProfiling  bool   `help:"Accepted for Trinity-RFT's sake." hidden:""`
	Port             int    `short:"p" help:"Accepted for Trinity-RFT's sake: of its viewer." hidden:""`
}

// Run implements the command.
func (c *debugCmd) Run(s *surroundings) error {
	if c.PluginDir != "" || c.EnableProfiling || c.Port != 0 {
		fmt.Fprintln(s.err, "note: --plugin-dir, --enable-profiling and --port do not apply here")
	}
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	if c.Module == "inference_model" {
		return c.serveModel(s, cfg.Model.BaseModel())
	}
	if c.Module == "prompt" {
		o := run.Options{Out: s.out, Stop: s.stop, LookupEnv: s.env, Find: s.find, Hub: s.hub()}
		return run.DebugPrompt(s.ctx, cfg, o)
	}
	dir, err := c.output()
	if err != nil {
		return err
	}
	return run.Debug(s.ctx, cfg, run.Options{Out: s.out, Terminal: s.terminal, Stop: s.stop, LookupEnv: s.env, Find: s.find, Hub: s.hub()}, dir)
}

// output is the folder to write to: what an earlier run left there is replaced, unless that is not wanted.
func (c *debugCmd) output() (string, error) {
	dir, err := filepath.Abs(c.OutputDir)
	if err != nil {
		return "", err
	}
	left, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(left) == 0:
		return dir, nil
	case err != nil:
		return "", err
	case c.DisableOverwrite:
		return dir + "_" + time.Now().Format("20060102150405"), nil
	}
	if _, err := os.Stat(filepath.Join(dir, "experiences.db")); err != nil {
		return "", usageError{fmt.Errorf("trinity: %s is not empty and was not made by trinity debug; name another --output-dir", dir)}
	}
	return dir, os.RemoveAll(dir)
}

// serveModel serves the configuration's model.
func (c *debugCmd) serveModel(s *surroundings, name string) error {
	dir, err := run.FindModel(s.ctx, name, s.find, s.hub())
	if err != nil {
		return err
	}
	serve := &serveStart{dataFlag: dataFlag{Data: filepath.Join(c.OutputDir, "serve")}, Addr: c.Addr, Models: []string{dir}, MinFree: 256}
	return serve.Run(s)
}
