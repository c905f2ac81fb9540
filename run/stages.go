package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// runStages runs the stages of a configuration one after another, each in a job directory of its own and with the
// weights that the one before it ended with. After a kill the stage that was begun last is continued.
func runStages(ctx context.Context, j *job.Job) (sum *console.Summary, err error) {
	cfg := j.Config
	steps, err := inspectStages(ctx, j)
	if err != nil {
		return nil, err
	}
	if !cfg.Continue {
		cfg.StartFresh(j.Now())
	}
	root := j.For(cfg, j.Backend, cfg.JobDir())
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Lock(ctx, jobdir.Stages); err != nil {
		return nil, err
	}
	latest, err := root.Dir.LatestStage(cfg)
	if err != nil {
		return nil, err
	}
	var left jobdir.Stage
	for i := range latest {
		if left, err = left.After(cfg, i); err != nil {
			return nil, err
		}
		if err := jobdir.SayPassed(cfg, i, steps[i], j.Out); err != nil {
			return nil, err
		}
	}
	for i := latest; i < len(cfg.Stages); i++ {
		if err := root.Dir.BeginStage(i); err != nil {
			return nil, err
		}
		fmt.Fprintf(j.Out, "stage    %d of %d: %s\n", i+1, len(cfg.Stages), cfg.Stages[i].StageName)
		if sum, err = runStage(ctx, j, i, left); err != nil {
			return nil, err
		}
		if left, err = left.After(cfg, i); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// inspectStages refuses what trinity validate refuses in any stage, before the first begins. It returns how many train
// steps each has by its plan, 0 if that is not known.
func inspectStages(ctx context.Context, j *job.Job) (steps []int, err error) {
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	in, err := inspectAll(ctx, j)
	if err == nil {
		for _, part := range in.Parts() {
			steps = append(steps, part.inspected.Steps())
		}
		err = in.Close()
	}
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		return nil, stoppedEarly(j)
	}
	return steps, err
}

func runStage(ctx context.Context, j *job.Job, i int, left jobdir.Stage) (*console.Summary, error) {
	cfg, err := j.Config.Stage(i)
	if err != nil {
		return nil, err
	}
	cfg.Continue = true // in a directory that the run may have begun anew
	if left.State != "" {
		cfg.Model.RandomInit = false
	}
	stage := j.With(cfg)
	stage.Staged, stage.Stage = true, left
	sum, err := runOne(ctx, stage)
	if err != nil && !errors.Is(err, ErrInterrupted) {
		err = fmt.Errorf("stage %s: %w", j.Config.Stages[i].StageName, err)
	}
	return sum, err
}
