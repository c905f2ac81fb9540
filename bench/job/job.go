// Package job runs the jobs of the experiments in the folders beside it, and compares what they come to. An experiment
// is a main program that runs in the root of the repository.
package job

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run"
)

// Main runs an experiment until it is done, it fails or the process is interrupted. An error ends the process with
// status 1.
func Main(name string, experiment func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := experiment(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Job is a configuration and what a run of it gets from its surroundings.
type Job struct {
	File      string   // the configuration
	Dir       string   // checkpoint_root_dir; "" is a folder that is removed when the run ends
	Overrides []string // key=value
	Options   run.Options
}

// Load reads the configuration.
func (j Job) Load() (*config.Config, error) {
	o := j.Options
	env := o.LookupEnv
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	overrides := j.Overrides
	if j.Dir != "" {
		overrides = append([]string{"checkpoint_root_dir=" + j.Dir}, overrides...)
	}
	return config.Load(j.File, overrides, env, o.Plugins.Names(), o.Python.Names())
}

// Run runs the job to its end.
func (j Job) Run(ctx context.Context) (*console.Summary, error) {
	if j.Dir == "" {
		dir, err := os.MkdirTemp("", "trinity-job-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		j.Dir = dir
	}
	cfg, err := j.Load()
	if err != nil {
		return nil, err
	}
	return Run(ctx, cfg, j.Options)
}

// Run runs a configuration to its end. The error has what the run said.
func Run(ctx context.Context, cfg *config.Config, o run.Options) (*console.Summary, error) {
	var out bytes.Buffer
	o.Out = &out
	sum, err := run.Run(ctx, cfg, o)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out.String())
	}
	return sum, nil
}

// Gem runs trinity gem to its end, and returns the folder of the run and its metrics. Without output_dir the folder is
// removed when the run ends.
func Gem(ctx context.Context, o run.Options, pairs ...string) (dir string, lines []monitor.Line, err error) {
	root, err := os.MkdirTemp("", "trinity-gem-")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(root)
	var out bytes.Buffer
	o.Out = &out
	if err := run.Gem(ctx, append([]string{"output_dir=" + root}, pairs...), o); err != nil {
		return "", nil, fmt.Errorf("%w\n%s", err, out.String())
	}
	_, rest, _ := strings.Cut(out.String(), "save path ")
	dir, _, _ = strings.Cut(rest, "\n")
	lines, err = monitor.ReadLog(filepath.Join(dir, "metrics.jsonl"))
	return dir, lines, err
}

// Pairs reads the configuration of a run of trinity gem, with changes.
func Pairs(file string, changes ...string) ([]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pairs, err := gem.Pairs(data)
	return append(pairs, changes...), err
}

// Exec runs a program. The error has what it printed.
func Exec(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
