// Package service opens what trains and samples a run's models: the engine of this machine with its journal, or a
// server of the Tinker API; and finds the models that it serves: the one that is trained, a teacher, a judge.
package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/client"
)

// Service is what trains and samples.
type Service struct {
	API     tinker.Service
	Engine  *engine.Engine // behind it; nil on a server, and on a machine of a test
	Server  remote.Server  // behind it; nil on the engine
	Durable bool           // it keeps models when this process ends
}

// Options are what it takes to open a service.
type Options struct {
	Site     site.Site
	Config   *config.Config
	Backend  config.Backend
	Folder   jobdir.Dir
	Seed     uint64
	Model    *base.Model
	Served   []map[string]engine.Model // what the engine serves beside the model
	Start    Start
	Stage    jobdir.Stage
	Progress *console.Progress
	Opened   func(close func() error)
	// Engine opens a service without a journal in place of the usual service, for tests; nil does not.
	Engine func(engine.Options) (tinker.Service, error)
	// Machine opens something else in place of the engine, for tests; nil does not.
	Machine func(engine.Options) (journal.Machine, error)
}

// Open opens the service that the backend names.
func (o Options) Open(ctx context.Context) (Service, error) {
	switch {
	case o.Config.Fleet.On() && o.Backend.Kind != config.Local:
		return Service{}, fmt.Errorf("run: fleet.listen and fleet.url are of the local engine, and the run goes to "+
			"the %s; remove them, or set model.tinker.base_url: local", o.Backend.Kind)
	case o.Engine != nil:
		return o.openFleeting()
	case o.Backend.Kind == config.Local:
		return o.openEngine(ctx)
	}
	return o.openServer(ctx)
}

// openFleeting opens an engine that forgets its models when the process ends.
func (o Options) openFleeting() (Service, error) {
	eo, err := o.EngineOptions()
	if err != nil {
		return Service{}, err
	}
	e, err := o.Engine(eo)
	if err != nil {
		return Service{}, err
	}
	o.Opened(e.Close)
	return Service{API: e}, nil
}

// EngineOptions are those of the local engine on the run's models.
func (o Options) EngineOptions() (engine.Options, error) {
	seed := o.Seed
	var ends []int32
	var err error
	if o.Model.Template != nil { // a base model may have none
		ends, err = o.Model.Template.StopIDs(o.Model.Tokenizer)
	}
	models := map[string]engine.Model{o.Model.Name: {Dir: o.Model.Dir, Tokens: o.Model.Tokenizer, EndTokens: ends}}
	for _, more := range o.Served {
		maps.Copy(models, more)
	}
	eo := engine.Options{
		Dir: o.Folder.Checkpoints(), Models: models,
		Threads: o.Site.Threads, Order: o.Site.Order, Seed: &seed, FS: o.Site.FS,
	}
	eo.Fit(o.Site.Memory)
	return eo, err
}

// openEngine opens the engine, and the journal around it where this process trains: sampling keeps nothing.
func (o Options) openEngine(ctx context.Context) (Service, error) {
	eo, err := o.EngineOptions()
	if err != nil {
		return Service{}, err
	}
	if err := o.Folder.ImportState(o.Stage); err != nil {
		return Service{}, err
	}
	eo.Beside = jobdir.Aside(o.Config) || o.Config.Mode == config.Bench
	workers, err := o.openFleet(ctx, &eo)
	if err != nil {
		return Service{}, err
	}
	m, e, err := o.openMachine(eo)
	if err != nil {
		return Service{}, err
	}
	if workers != nil {
		workers.Bind(e)
	}
	if err := o.importAdapter(e); err != nil {
		return Service{}, errors.Join(err, m.Close())
	}
	if eo.Beside {
		o.Opened(m.Close)
		return Service{API: m, Engine: e, Durable: true}, nil
	}
	j, err := journal.Open(ctx, o.Folder.File("tinker", "journal"), m, journal.Options{
		FS: o.Site.FS, Local: true,
		Warn: func(msg string) { fmt.Fprintln(o.Site.Out, "warning:", foreign.Text(msg)) },
	})
	if err != nil {
		return Service{}, errors.Join(err, m.Close())
	}
	o.Opened(j.Close)
	return Service{API: j, Engine: e, Durable: true}, nil
}

// openMachine opens the engine, or what a test has in its place; e is nil then.
func (o Options) openMachine(eo engine.Options) (m journal.Machine, e *engine.Engine, err error) {
	if o.Machine != nil {
		m, err = o.Machine(eo)
		return m, nil, err
	}
	if e, err = engine.Open(eo); err != nil {
		return nil, nil, err
	}
	return e, e, nil
}

// openServer connects to the server or the hosted service.
func (o Options) openServer(ctx context.Context) (Service, error) {
	ctx, cancel := o.Site.WhileWanted(ctx)
	defer cancel()
	left := remote.ModelNotes{FS: o.Site.FS, Path: filepath.Join(o.Folder.Path, "remote_models.json"),
		Server: o.Backend.URL}
	spare, err := left.Read()
	if err != nil {
		return Service{}, err
	}
	d := Dialer{Site: o.Site, Backend: o.Backend, Warn: o.Progress.Warn,
		Paused: func(p client.Pause) { o.Progress.Say(pauseText(p)) }}
	if o.Config.Mode.Trains() && o.Config.Mode != config.Bench {
		d.OnModel, d.Spare = left.Add, spare
	}
	c, err := d.Dial(ctx)
	if err != nil {
		return Service{}, err
	}
	o.Opened(c.Close)
	_, err = c.Capabilities(ctx) // from which the client learns whose server it is
	return Service{API: c, Server: c}, err
}

// OpenSampling opens a service that only samples, on the checkpoints in the folder.
func (o Options) OpenSampling(ctx context.Context) (Service, error) {
	if o.Backend.Kind != config.Local {
		return o.openServer(ctx)
	}
	eo, err := o.EngineOptions()
	if err != nil {
		return Service{}, err
	}
	eo.Beside = true // the run may be at work
	m, e, err := o.openMachine(eo)
	if err != nil {
		return Service{}, err
	}
	o.Opened(m.Close)
	return Service{API: m, Engine: e}, nil
}
