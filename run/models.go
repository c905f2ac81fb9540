package run

import (
	"context"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
)

// models are the model of a run, those that it asks beside it, and the service that trains and samples them.
type models struct {
	service  service.Service
	base     *base.Model
	external *openai.Service // sampled in place of the model; nil: the model is
	teacher  service.Teacher
	judge    *service.Judge
	start    service.Start
	context  int // tokens that a sequence may have for every model that reads it; 0: not known
}

// openModels makes the folder of a job, gives the setting its identity, and opens the models and their service. read is
// the model as it was read before, nil if it was not.
func openModels(
	ctx context.Context, set *setting, o Options, m *algorithm.Method, read *base.Model,
) (models, *console.Progress, error) {
	if set.cfg.Model.ExternalModel.Enable {
		return openExternal(ctx, set)
	}
	need := m.Needs()
	start, err := service.StartOf(set.cfg, set.stage, set.local(), set.cfg.Mode.Explores() || need.Ref)
	if err != nil {
		return models{}, nil, err
	}
	find := service.Finder{Site: set.site, Config: set.cfg, Backend: set.backend}
	x := models{start: start}
	if x.base, err = find.Model(ctx, read); err != nil {
		return x, nil, err
	}
	if err := openFolder(ctx, set, x.base); err != nil {
		return x, nil, err
	}
	o.python.logTo(set.folder.Path, set.cfg.Log.Level)
	o.servers.keepIn(set.folder.Path, set.cfg.Log.Level)
	if need.Teacher {
		if x.teacher, err = find.Teacher(ctx, x.base); err != nil {
			return x, nil, err
		}
	}
	if x.judge, err = find.Judge(ctx, set.id.Date); err != nil {
		return x, nil, err
	}
	progress, err := set.progress()
	if err != nil {
		return x, nil, err
	}
	if x.service, err = openService(ctx, *set, o, x, progress); err != nil {
		return x, nil, err
	}
	x.judge.Use(x.service.API)
	o.python.ask(x.judge)
	x.context, err = service.Context(ctx, x.service.API, x.base.Name, need, x.teacher)
	return x, progress, err
}

// openFolder makes the folder of a job, and reads the model's template, which may ask for the date of its identity.
func openFolder(ctx context.Context, set *setting, m *base.Model) error {
	if err := set.folder.Make(); err != nil {
		return err
	}
	if err := set.lock(ctx, jobdir.Roles(set.cfg)...); err != nil {
		return err
	}
	if err := set.identify(); err != nil {
		return err
	}
	text, err := m.Configure(set.cfg, set.id.Date)
	if err != nil {
		return err
	}
	err = errors.Join(set.folder.KeepTemplate(text), set.folder.KeepNotes(notesOf(*set, m)))
	if err != nil || set.local() { // the engine knows the stops
		return err
	}
	return m.NameStops()
}

// openService opens what trains and samples.
func openService(
	ctx context.Context, set setting, o Options, x models, progress *console.Progress,
) (service.Service, error) {
	s, err := serviceOptions(set, x, progress, o).Open(ctx)
	if err == nil && o.Wrap != nil {
		s.API = o.Wrap(s.API)
	}
	return s, err
}

func serviceOptions(set setting, x models, progress *console.Progress, o Options) service.Options {
	return service.Options{Site: set.site, Config: set.cfg, Backend: set.backend, Folder: set.folder, Seed: set.id.Seed,
		Model: x.base, Served: []map[string]engine.Model{x.teacher.Served, x.judge.Served(x.base.Name)},
		Start: x.start, Stage: set.stage, Progress: progress, Opened: set.opened, Engine: o.fleeting,
		Machine: o.machine}
}

// openExternal reaches the model that mode bench evaluates behind OpenAI's interface.
func openExternal(ctx context.Context, set *setting) (x models, p *console.Progress, err error) {
	if x.external, x.base, err = inspect.External(set.cfg, set.site); err != nil {
		return x, nil, err
	}
	x.service.API = x.external
	set.id = jobdir.Draw(set.cfg, "", set.site.Now())
	if err := set.folder.Make(); err != nil {
		return x, nil, err
	}
	if err := set.lock(ctx, jobdir.Roles(set.cfg)...); err != nil {
		return x, nil, err
	}
	p, err = set.progress()
	return x, p, err
}
