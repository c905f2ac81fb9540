package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"

	"github.com/seed-d9ad8ee0/trinity/hf/modelname"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// debugHelp explains --module.
const debugHelp = "What to do: prompt shows the first prompt as the model reads it; " +
	"workflow runs one task and shows it in full; inference_model serves the model until Ctrl-C."

// debugCmd has Trinity-RFT's flags.
type debugCmd struct {
	configFlags
	pythonFlags
	Module           string `short:"m" required:"" help:"${debugHelp}" enum:"prompt,workflow,inference_model"`
	OutputDir        string `short:"o" help:"Folder of experiences and log." default:"debug_output" placeholder:"DIR"`
	DisableOverwrite bool   `help:"Use DIR_<time> if DIR is not empty."`
	Addr             string `help:"Address of inference_model." default:"127.0.0.1:8000"`
	EnableProfiling  bool   `help:"Accepted for compatibility." hidden:""`
	Port             int    `short:"p" help:"Accepted for compatibility." hidden:""`
}

// Run implements the command.
func (c *debugCmd) Run(s *surroundings) error {
	if c.EnableProfiling || c.Port != 0 {
		fmt.Fprintln(s.err, "note: --enable-profiling and --port do not apply here")
	}
	py := c.python(s)
	cfg, err := c.load(s, py.Names())
	if err != nil {
		return err
	}
	if c.Module == "inference_model" {
		return c.serveModel(s, cfg.Model.BaseModel())
	}
	ctx, cancel := s.untilStop()
	defer cancel()
	o := s.options(0)
	o.Python = py
	if c.Module == "prompt" {
		return run.DebugPrompt(ctx, cfg, o)
	}
	dir, err := c.output()
	if err != nil {
		return err
	}
	return run.Debug(ctx, cfg, o, dir)
}

// debugMark is a file that says that trinity debug made the folder. It is there from the start, since a workflow that
// fails leaves no experiences.
const debugMark = ".trinity-debug"

// output is the folder to write to. What an earlier debug run left there is removed, unless --disable-overwrite is set.
func (c *debugCmd) output() (string, error) {
	dir, err := filepath.Abs(c.OutputDir)
	if err != nil {
		return "", err
	}
	left, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && len(left) == 0:
		return dir, markDebug(dir)
	case err != nil:
		return "", err
	case c.DisableOverwrite:
		dir += "_" + time.Now().Format("20060102150405")
		return dir, markDebug(dir)
	}
	if !ofDebug(dir) {
		return "", usageError{fmt.Errorf("trinity: %s is not empty and was not made by trinity debug; "+
			"choose another --output-dir", dir)}
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, markDebug(dir)
}

// ofDebug is whether trinity debug made a folder: experiences.db is all that earlier versions are known by.
func ofDebug(dir string) bool {
	return has(dir, debugMark) || has(dir, "experiences.db")
}

func markDebug(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, debugMark), nil, 0o666)
}

// serveModel serves the configuration's model.
func (c *debugCmd) serveModel(s *surroundings, name string) error {
	dir, err := s.model(name)
	if err != nil {
		return err
	}
	if modelname.MadeOfGGUF(name) {
		dir = name
	}
	serve, err := c.server(dir)
	if err != nil {
		return err
	}
	return serve.Run(s)
}

// server is trinity serve for one model, with the defaults of its flags.
func (c *debugCmd) server(model string) (*serveStart, error) {
	serve := &serveStart{dataFlag: dataFlag{Data: filepath.Join(c.OutputDir, "serve")}, Addr: c.Addr,
		Models: []string{model}}
	return serve, kong.ApplyDefaults(serve)
}
