package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
)

// Inspection is what [Run] looks at before it begins: every part of a job that needs no service and writes
// nothing. It must be closed.
type Inspection struct {
	Backend config.Backend
	Stage   string        // its name, of a configuration with stages
	Unknown []string      // what cannot be looked up here, such as a model that is not downloaded yet
	Notes   []string      // what the parts say of arguments that they do not use
	Stages  []*Inspection // of a configuration with stages, which has nothing else

	seen    *inspect.Inspection // nil with Stages
	python  *plugins            // to be closed with it, and so are
	servers *servers
}

// Inspect does everything of a run that comes before its first sample and needs no service. The error joins one
// [*config.Problem] for each thing that is wrong. Run begins with it, so that Run refuses nothing that it lets through.
func Inspect(ctx context.Context, cfg *config.Config, o Options) (in *Inspection, err error) {
	o = o.withDefaults()
	if o.python == nil {
		if o, err = o.withPython(ctx, cfg); err != nil {
			return nil, err
		}
		defer func() {
			if err == nil {
				in.python = o.python
			} else {
				err = errors.Join(err, o.python.Close())
			}
		}()
	}
	if o.servers == nil {
		o = o.withServers(ctx, playedIDs(cfg)...)
		defer func() {
			if err == nil {
				in.servers = o.servers
			} else {
				err = errors.Join(err, o.servers.Close())
			}
		}()
	}
	if len(cfg.Stages) == 0 {
		return inspectOne(ctx, cfg, o, false)
	}
	whole := &Inspection{}
	var errs []error
	for i := range cfg.Stages {
		s, err := cfg.Stage(i)
		if err == nil {
			var part *Inspection
			if part, err = inspectOne(ctx, s, o, i > 0); part != nil {
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
func inspectOne(ctx context.Context, cfg *config.Config, o Options, later bool) (*Inspection, error) {
	backend, err := backendOf(cfg, o)
	if err != nil {
		return nil, err
	}
	seen, err := inspect.Open(ctx, cfg, backend, o.site(), later)
	if err != nil {
		return nil, err
	}
	return &Inspection{Backend: backend, Unknown: seen.Unknown(), Notes: seen.Notes(), seen: seen}, nil
}

// backendOf is where a configuration trains or what it evaluates.
func backendOf(cfg *config.Config, o Options) (config.Backend, error) {
	if e := cfg.Model.ExternalModel; e.Enable {
		return config.Backend{Kind: config.Server, Reason: fmt.Sprintf("evaluating %s behind the address in %s "+
			"(model.external_model)", e.ModelName, e.BaseURLEnv)}, nil
	}
	return config.ChooseBackend(cfg, o.LookupEnv)
}

// Parts are the inspections of the stages, or the one of a configuration without stages.
func (in *Inspection) Parts() []*Inspection {
	if in.seen == nil {
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
	if in.seen != nil {
		errs = append(errs, in.seen.Close())
	}
	errs = append(errs, in.servers.Close(), in.python.Close())
	return errors.Join(errs...)
}

// Estimate reckons the budget. It renders some tasks as their workflow does; on the local engine it loads the model,
// runs some tasks with it and measures it for a moment. It asks no server anything.
func (in *Inspection) Estimate(ctx context.Context) (*budget.Budget, error) {
	if in.seen == nil {
		return nil, errors.New("run: each stage has a budget of its own")
	}
	return in.seen.Estimate(ctx)
}

// DebugPrompt shows the first prompt of a configuration as the model reads it, and where its template and its system
// prompt come from. Nothing is sampled and nothing is written.
func DebugPrompt(ctx context.Context, cfg *config.Config, o Options) error {
	o = o.withDefaults()
	in, err := Inspect(ctx, cfg, o)
	if err != nil {
		return err
	}
	for _, part := range in.Parts() {
		if part.Stage != "" {
			fmt.Fprintf(o.Out, "stage    %s\n", part.Stage)
		}
		if err = part.seen.ShowPrompt(ctx, o.Out); err != nil {
			break
		}
	}
	return errors.Join(err, in.Close())
}
