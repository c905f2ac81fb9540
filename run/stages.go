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
	steps, err := o.inspected(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if !cfg.Continue {
		cfg.StartFresh(o.Now())
	}
	root := jobdir.Of(cfg, o.fs, cfg.JobDir())
	unlock, err := lockDir(ctx, o.site(), root, jobdir.Stages)
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
		if err := jobdir.SayPassed(cfg, i, steps[i], o.Out); err != nil {
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

// inspected refuses what trinity validate refuses in any stage, before the first begins. It returns how many train
// steps each has by its plan, 0 where that is not known.
func (o Options) inspected(ctx context.Context, cfg *config.Config) (steps []int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := watchStop(ctx, o.Stop, func() { cancel(ErrInterrupted) })
	in, err := Inspect(ctx, cfg, o)
	release()
	if err == nil {
		for _, part := range in.Parts() {
			steps = append(steps, part.seen.Steps())
		}
		err = in.Close()
	}
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		return nil, o.stoppedEarly()
	}
	return steps, err
}

// stoppedEarly tells the user that the run ended before anything was under way.
func (o Options) stoppedEarly() error {
	fmt.Fprintln(o.Out, "stopped before the job was at work; the same command starts it")
	return ErrInterrupted
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
