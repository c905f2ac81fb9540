// Package run wires a configuration into a running job: model, service, data, loops, records. It is the only package
// that knows all the others. Nothing is registered or injected, so go-to-definition reaches every part.
//
// Start reading at Run. A caller sets Options; a job.Job holds what is open, and further parts are made from it.
package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options come from the caller of a run rather than from its configuration: where it prints, what stops it, where
// it finds files and models, and the parts that a program brings. The zero value runs on local files.
type Options = job.Options

// Plugins are parts that a program of its own brings as values: workflows, rewards, operators, advantages, losses,
// selectors and monitors, by the names that configurations use. examples/plugin is a whole program.
type Plugins = job.Plugins

// Python is the user's Python and the plug-in files that run in it.
type Python = job.Python

// ErrInterrupted is Run's error when Stop was closed: the job is saved, and the next start continues it.
var ErrInterrupted = job.ErrInterrupted

// Run does what the configuration says until it is done, ctx ends, or Stop is closed.
func Run(ctx context.Context, cfg *config.Config, o Options) (sum *console.Summary, err error) {
	j := job.New(cfg, o)
	j.SayBusy(ctx)
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := openOutside(ctx, j, namedIn(j)); err != nil {
		return nil, err
	}
	if len(cfg.Stages) > 0 {
		return runStages(ctx, j)
	}
	return runOne(ctx, j)
}

// runOne runs a configuration without stages, or one stage; and once more whenever the server lost what the run had
// there: a start on a server continues after the last saved state, whether the process or the server was restarted.
func runOne(ctx context.Context, j *job.Job) (*console.Summary, error) {
	cfg := j.Config
	backend, err := backendOf(j)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(j.Out, backend.Reason)
	if cfg.Continue || cfg.Mode == config.Bench {
		jobdir.Of(cfg, j.FS, cfg.JobDir()).Follow(cfg)
	}
	for _, note := range cfg.Notes() {
		fmt.Fprintln(j.Out, "note:", note)
	}
	if !cfg.Continue && cfg.Mode != config.Bench { // which evaluates what is there
		cfg.StartFresh(j.Now())
	}
	var back goingBack
	for {
		sum, err := once(ctx, j.For(cfg, backend, cfg.JobDir()))
		if !errors.Is(err, tinker.ErrLost) || ctx.Err() != nil {
			return sum, err
		}
		state, rerr := trainer.ReadState(cfg.JobDir(), cfg.Trainer.Name)
		if rerr != nil {
			return nil, errors.Join(err, rerr)
		}
		if err := back.to(state.Saved, err, j.Out); err != nil {
			return nil, err
		}
	}
}

// once opens a job, runs it to its end, and closes it.
func once(ctx context.Context, j *job.Job) (*console.Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// nothing is under way yet that could be finished
	release := context.AfterFunc(j.Stopping(), func() { cancel(ErrInterrupted) })
	l, err := build(ctx, j)
	if stopped := !release(); stopped {
		if cerr := j.Close(); err == nil && cerr != nil {
			return nil, cerr
		}
		return nil, stoppedEarly(j)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	sum, err := l.run(ctx)
	return sum, errors.Join(err, j.Close())
}

// build opens everything that a run consists of.
func build(ctx context.Context, j *job.Job) (*loops, error) {
	j.Busy.With("checking the configuration, the model and the data")
	inspected, err := inspect.Open(ctx, j, j.Stage.State != "")
	if err != nil {
		return nil, err
	}
	j.Opened(inspected.Close)
	if j.Method, err = plan.Method(j.Config, j.Plugins.Tables()); err != nil {
		return nil, err
	}
	j.Busy.With("opening the model and what trains it")
	if err := openModels(ctx, j, inspected.Model); err != nil {
		return nil, err
	}
	return openLoops(ctx, j, inspected)
}

// stoppedEarly tells the user that the run ended before anything was under way.
func stoppedEarly(j *job.Job) error {
	fmt.Fprintln(j.Out, "stopped before the job was at work; the same command starts it")
	return ErrInterrupted
}
