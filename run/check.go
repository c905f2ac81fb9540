package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
)

// Inspection is a configuration's job with every part that needs no service, writes nothing and asks nobody anything:
// what [Run] looks at before it begins, and all that [Estimate] reckons with. It must be closed.
type Inspection struct {
	Backend config.Backend
	Stage   string        // of a configuration with stages
	Unknown []string      // what cannot be looked up here, such as a model that is not downloaded yet
	Notes   []string      // what the parts say of arguments that they do not use
	Stages  []*Inspection // of a configuration with stages, which has nothing else

	job      *job
	found    []*config.Problem
	train    explorer.Taskset     // what is trained on; no tasks where it is not known
	tasks    *tasks               // its tasks
	steps    int                  // train steps; 0 where only the data's end tells
	explored int                  // explore steps
	examples *supervised.Examples // of sft and dpo
	later    bool                 // a stage behind others
	prepared bool                 // what the task pipeline makes is there
}

// Inspect does everything of a run that comes before its first sample and needs no service. The error joins one
// [*config.Problem] for each thing that is wrong. Run begins with it, so that what it lets through Run does not refuse.
func Inspect(ctx context.Context, cfg *config.Config, o Options) (*Inspection, error) {
	o = o.withDefaults()
	if len(cfg.Stages) == 0 {
		return inspect(ctx, cfg, o, o.stage.State != "")
	}
	whole := &Inspection{}
	var errs []error
	for i := range cfg.Stages {
		s, err := cfg.Stage(i)
		if err == nil {
			var part *Inspection
			if part, err = inspect(ctx, s, o, i > 0); part != nil {
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

// Parts are the inspections of the stages, or the one of a configuration without stages.
func (in *Inspection) Parts() []*Inspection {
	if in.job == nil {
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
	if in.job != nil {
		errs = append(errs, in.job.close())
	}
	return errors.Join(errs...)
}

// inspect looks at a configuration without stages, or at one stage; a later one may read what those before it write.
func inspect(ctx context.Context, cfg *config.Config, o Options, later bool) (*Inspection, error) {
	backend, err := backendOf(cfg, o)
	if err != nil {
		return nil, err
	}
	o.Out = io.Discard // notes are kept
	in := &Inspection{Backend: backend, later: later,
		job: &job{Options: o, cfg: cfg, backend: backend, dir: cfg.JobDir(), reckons: true}}
	in.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := config.Problems(in.found); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	in.Notes = in.job.noted
	return in, nil
}

// backendOf is where a configuration trains or what it evaluates.
func backendOf(cfg *config.Config, o Options) (config.Backend, error) {
	if cfg.Model.ExternalModel.Enable {
		return externalBackend(cfg), nil
	}
	return config.ChooseBackend(cfg, o.LookupEnv)
}

// look makes one part after the other. A part whose needs are not there is left out: what is missing has been said.
func (in *Inspection) look(ctx context.Context) {
	b := in.job
	known := in.add("algorithm", b.buildAlgorithm(ctx))
	in.mode()
	model := in.lookAtModel(ctx)
	if known && model {
		in.lookAtTeacher(ctx)
	}
	judged := in.lookAtJudge(ctx)
	in.lookAtPipelines(ctx)
	if known && model && judged {
		in.lookAtData(ctx)
	} else {
		in.lookAtNames()
	}
}

// add notes what is wrong with the value of a key, each part of a joined error by itself; an error that names an
// argument or a key of its own stands there. It reports whether nothing is wrong and nothing unknown.
func (in *Inspection) add(key string, err error) bool {
	var unknown *notHere
	switch list, joined := err.(interface{ Unwrap() []error }); {
	case err == nil:
		return true
	case joined:
		for _, e := range list.Unwrap() {
			in.add(key, e)
		}
	case errors.As(err, &unknown):
		in.Unknown = append(in.Unknown, unknown.Error())
	default:
		in.found = append(in.found, in.problem(key, err)...)
	}
	return false
}

func (in *Inspection) problem(key string, err error) (list []*config.Problem) {
	var own *algorithm.KeyError
	var placed *placed
	if errors.As(err, &own) {
		key += "." + own.Key
	} else if errors.As(err, &placed) {
		key = placed.key
	}
	names := arguments(err)
	if len(names) == 0 {
		if placed != nil {
			err = placed.err
		}
		return []*config.Problem{in.job.cfg.Problem(key, "%s", strings.TrimPrefix(err.Error(), "run: "))}
	}
	for _, a := range names {
		p := in.job.cfg.Problem(key+"."+a.Name, "%s", a.Text)
		if a.Unknown {
			p = in.job.cfg.KeyProblem(key+"."+a.Name, "%s", a.Text)
		}
		list = append(list, p)
	}
	return list
}
