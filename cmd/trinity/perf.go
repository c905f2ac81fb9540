package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/monitor/perf"
	"github.com/seed-d9ad8ee0/trinity/run"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// perfCmd has Trinity-RFT's commands and flags.
type perfCmd struct {
	Run  perfRunCmd  `cmd:"" help:"Explore some steps of a configuration and write a report."`
	View perfViewCmd `cmd:"" help:"Print a report, and show its run in a browser."`
}

type perfRunCmd struct {
	configFlags
	pythonFlags
	Module   string  `short:"m" help:"What to measure: explorer." default:"explorer"`
	Output   string  `name:"output-path" short:"o" help:"The report to write." default:"perf/output.json"`
	Interval float64 `name:"monitor-interval" help:"Seconds between samples of memory and processors." default:"2"`
	Steps    int     `name:"total-steps" help:"Explore steps." default:"5"`
	Timeout  float64 `help:"Seconds after which the run has failed; 0: none." default:"0"`
	engineFlags
}

// Run implements the command. The report is written whether or not the run succeeds.
func (c *perfRunCmd) Run(s *surroundings) error {
	switch {
	case c.Module != "explorer":
		return usageError{fmt.Errorf("trinity: --module is %s; only explorer can be measured", c.Module)}
	case !(c.Interval > 0) || c.Steps < 1 || c.Timeout < 0:
		return usageError{errors.New("trinity: --monitor-interval must be positive, --total-steps at least 1, " +
			"and --timeout at least 0")}
	}
	py := c.python(s)
	cfg, err := c.explorer(s, py)
	if err != nil {
		return errors.Join(err, perf.WriteFailure(c.Output, err))
	}
	r, err := c.measure(s, cfg, py)
	if err != nil {
		text := err.Error()
		r.Status.Error = &text
	}
	r.Status.Success = err == nil
	if err := errors.Join(err, r.Write(c.Output)); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n%s\nreport   %s\n", foreign.Plain(r.String()), c.Output)
	return nil
}

// explorer is the configuration of a new run of so many steps without a trainer, which nobody waits for.
func (c *perfRunCmd) explorer(s *surroundings, py run.Python) (*config.Config, error) {
	cfg, err := c.load(s, py.Names())
	if err != nil {
		return nil, err
	}
	if cfg.Mode != config.Explore {
		return nil, fmt.Errorf("perf measures configurations of mode explore, and this one has mode %s; add "+
			"mode=explore", cfg.Mode)
	}
	own := configFlags{Config: c.Config, Overrides: append(slices.Clone(c.Overrides),
		fmt.Sprint("buffer.total_steps=", c.Steps), "monitor.monitor_type=tensorboard",
		"continue_from_checkpoint=false",
		fmt.Sprint("synchronizer.sync_interval=", max(cfg.Synchronizer.SyncInterval, c.Steps+1)))}
	return own.load(s, py.Names())
}

// measure runs the configuration and reports.
func (c *perfRunCmd) measure(s *surroundings, cfg *config.Config, py run.Python) (*perf.Report, error) {
	o := s.options(c.Threads)
	o.Order, o.Python = c.Order, py
	var started time.Time
	var once sync.Once
	o.Wrap = func(api tinker.Service) tinker.Service { // it is ready to sample
		once.Do(func() { started = time.Now() })
		return api
	}
	ctx, cancel := s.ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(c.Timeout*float64(time.Second)),
			fmt.Errorf("it took longer than --timeout %g s", c.Timeout))
	}
	defer cancel()
	r := &perf.Report{Steps: []map[string]any{}}
	watching, stop := context.WithCancel(s.ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.Resources = perf.Watch(watching, time.Duration(c.Interval*float64(time.Second))) })
	begun := time.Now()
	_, err := run.Run(ctx, cfg, o)
	r.Took(begun, started, time.Now())
	stop()
	watch.Wait()
	host, hostErr := os.Hostname()
	if hostErr != nil {
		host = "unknown"
	}
	r.Meta = perf.Meta{Module: c.Module, Config: c.Config, Explorer: cfg.Explorer.Name, Interval: c.Interval,
		Host: host, PID: os.Getpid(), Generated: float64(time.Now().UnixMicro()) / 1e6}
	dir := cfg.JobDir()
	r.Artifacts = perf.Artifacts{Job: dir, TensorBoard: filepath.Join(dir, "monitor", "tensorboard"),
		Log: filepath.Join(dir, "log"), Output: c.Output}
	read := r.Read(s.ctx, dir, "metrics-"+cfg.Explorer.Name+".jsonl")
	switch {
	case err != nil && ctx.Err() != nil:
		return r, context.Cause(ctx)
	case err != nil:
		return r, err
	}
	return r, read
}

type perfViewCmd struct {
	Report string `short:"r" required:"" help:"The report." placeholder:"FILE"`
	Port   int    `short:"p" help:"The port of the studio." default:"8503"`
}

// Run implements the command: it ends at Ctrl-C, or at once if the run's folder is gone.
func (c *perfViewCmd) Run(s *surroundings) error {
	r, err := perf.Load(c.Report)
	if err != nil {
		return err
	}
	fmt.Fprint(s.out, foreign.Plain(r.String()))
	if st, err := os.Stat(r.Artifacts.Job); err != nil || !st.IsDir() {
		return nil
	}
	return showStudio(s, fmt.Sprint("127.0.0.1:", c.Port), []string{r.Artifacts.Job})
}
