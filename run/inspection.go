package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// Inspection is everything that [Run] checks before it begins: every part of a job that needs no service and writes
// nothing. It must be closed.
type Inspection struct {
	Backend config.Backend
	Stage   string        // its name, of a configuration with stages
	Unknown []string      // what cannot be looked up here, such as a model that is not downloaded yet
	Notes   []string      // what the parts say of arguments that they do not use
	Stages  []*Inspection // of a configuration with stages, which has nothing else

	inspected *inspect.Inspection // nil with Stages
	job       *job.Job            // to be closed with it; nil: it is another's
}

// Inspect does everything of a run that comes before its first sample and needs no service. The error joins one
// [*config.Problem] for each thing that is wrong. Run begins with it, so that Run refuses nothing that it lets through.
func Inspect(ctx context.Context, cfg *config.Config, o Options) (*Inspection, error) {
	j := job.New(cfg, o)
	var in *Inspection
	err := openOutside(ctx, j, namedIn(j))
	if err == nil {
		in, err = inspectAll(ctx, j)
	}
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	in.job = j
	return in, nil
}

// inspectAll inspects a configuration with or without stages.
func inspectAll(ctx context.Context, j *job.Job) (*Inspection, error) {
	cfg := j.Config
	if len(cfg.Stages) == 0 {
		return inspectOne(ctx, j, false)
	}
	whole := &Inspection{}
	var errs []error
	for i := range cfg.Stages {
		s, err := cfg.Stage(i)
		if err == nil {
			var part *Inspection
			if part, err = inspectOne(ctx, j.With(s), i > 0); part != nil {
				part.Stage = cfg.Stages[i].StageName
				whole.Stages = append(whole.Stages, part)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stage %s: %w", cfg.Stages[i].StageName, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, whole.Close())
	}
	return whole, nil
}

// inspectOne inspects a configuration without stages, or one stage; a later one may read what those before it write.
func inspectOne(ctx context.Context, j *job.Job, later bool) (*Inspection, error) {
	backend, err := backendOf(j)
	if err != nil {
		return nil, err
	}
	in, err := inspect.Open(ctx, j.For(j.Config, backend, j.Config.JobDir()), later)
	if err != nil {
		return nil, err
	}
	return &Inspection{Backend: backend, Unknown: in.Unknown(), Notes: in.Notes.List(), inspected: in}, nil
}

// backendOf is where a configuration trains or what it evaluates.
func backendOf(j *job.Job) (config.Backend, error) {
	if e := j.Config.Model.ExternalModel; e.Enable {
		return config.Backend{Kind: config.Server, Reason: fmt.Sprintf("evaluating %s behind the address in %s "+
			"(model.external_model)", e.ModelName, e.BaseURLEnv)}, nil
	}
	return config.ChooseBackend(j.Config, j.LookupEnv)
}

// Parts are the inspections of the stages, or the one of a configuration without stages.
func (in *Inspection) Parts() []*Inspection {
	if in.inspected == nil {
		return in.Stages
	}
	return []*Inspection{in}
}

// Close closes what was opened.
func (in *Inspection) Close() error {
	var errs []error
	for _, s := range in.Stages {
		errs = append(errs, s.Close())
	}
	if in.inspected != nil {
		errs = append(errs, in.inspected.Close())
	}
	if in.job != nil {
		errs = append(errs, in.job.Close())
	}
	return errors.Join(errs...)
}

// Estimate reckons the budget. It renders some tasks as their workflow does; on the local engine it loads the model,
// runs some tasks with it and measures it for a moment. It asks no server anything.
func (in *Inspection) Estimate(ctx context.Context) (*budget.Budget, error) {
	if in.inspected == nil {
		return nil, errors.New("run: each stage has a budget of its own")
	}
	return in.inspected.Estimate(ctx)
}

// DebugPrompt shows the first prompt of a configuration as the model reads it, and where its template and its system
// prompt come from. Nothing is sampled and nothing is written.
func DebugPrompt(ctx context.Context, cfg *config.Config, o Options) error {
	in, err := Inspect(ctx, cfg, o)
	if err != nil {
		return err
	}
	out := in.job.Out
	for _, part := range in.Parts() {
		if part.Stage != "" {
			fmt.Fprintf(out, "stage    %s\n", part.Stage)
		}
		if err = part.inspected.ShowPrompt(ctx, out); err != nil {
			break
		}
	}
	return errors.Join(err, in.Close())
}
