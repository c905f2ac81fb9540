package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// runStages runs the stages of a configuration one after another, each in a job directory of its own and with the
// weights that the one before it ended with. After a kill the stage that was begun last is continued.
func runStages(ctx context.Context, cfg *config.Config, o Options) (sum *console.Summary, err error) {
	if !cfg.Continue {
		cfg.StartFresh(o.Now())
	}
	root := jobdir.Of(cfg, o.fs, cfg.JobDir())
	unlock, err := lockDir(ctx, o, root, jobdir.Stages)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	latest, err := root.LatestStage(len(cfg.Stages))
	if err != nil {
		return nil, err
	}
	var left jobdir.Stage
	for i := range latest {
		if left, err = left.After(cfg, i); err != nil {
			return nil, err
		}
		if err := jobdir.SayPassed(cfg, i, o.Out); err != nil {
			return nil, err
		}
	}
	for i := latest; i < len(cfg.Stages); i++ {
		if err := root.BeginStage(i); err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Out, "stage    %d of %d: %s\n", i+1, len(cfg.Stages), cfg.Stages[i].StageName)
		if sum, err = runStage(ctx, cfg, i, left, o); err != nil {
			return nil, err
		}
		if left, err = left.After(cfg, i); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func runStage(ctx context.Context, cfg *config.Config, i int, left jobdir.Stage, o Options) (*console.Summary, error) {
	s, err := cfg.Stage(i)
	if err != nil {
		return nil, err
	}
	s.Continue = true // in a directory that the run may have begun anew
	if left.State != "" {
		s.Model.RandomInit = false
	}
	o.staged, o.stage = true, left
	sum, err := runOne(ctx, s, o)
	if err != nil && !errors.Is(err, ErrInterrupted) {
		err = fmt.Errorf("stage %s: %w", cfg.Stages[i].StageName, err)
	}
	return sum, err
}

// lockDir takes roles in a job directory, waiting for a process that is about to end, until the run is asked to stop.
func lockDir(ctx context.Context, o Options, d jobdir.Dir, roles ...string) (unlock func() error, err error) {
	ctx, cancel := o.whileWanted(ctx)
	defer cancel()
	return d.Lock(ctx, o.Out, roles...)
}

// startOf is the path of the state that a stage begins with, and the same to sample from; both are empty for what
// begins anew.
func startOf(s jobdir.Stage, local, samples bool) (start, sampler string, err error) {
	switch {
	case s.State == "" || local: // the engine samples from a state as well
		return s.State, s.State, nil
	case s.Sampler == "" && samples:
		return "", "", errors.New("run: the stage before this one published no weights that the server could " +
			"sample from; " +
			"give it a number of steps (trainer.total_steps)")
	}
	return s.State, s.Sampler, nil
}
