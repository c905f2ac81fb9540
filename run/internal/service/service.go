// Package service opens what trains and samples a run's models: the engine of this machine with its journal, or a
// server of the Tinker API; and finds the models that it serves: the one that is trained, and its teacher.
package service

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// Open opens the service that the job's backend names.
func Open(ctx context.Context, j *job.Job) (err error) {
	switch {
	case j.Config.Fleet.On() && !j.Local():
		return fmt.Errorf("run: fleet.listen and fleet.url are of the local engine, and the run goes to the %s; "+
			"remove them, or set model.tinker.base_url: local", j.Backend.Kind)
	case j.Fleeting != nil:
		err = openFleeting(j)
	case j.Local():
		err = openEngine(ctx, j)
	default:
		err = openServer(ctx, j)
	}
	if err == nil && j.Wrap != nil {
		j.API = j.Wrap(j.API)
	}
	return err
}

// OpenSampling opens a service that only samples, on the checkpoints in the job's folder.
func OpenSampling(ctx context.Context, j *job.Job) error {
	if !j.Local() {
		return openServer(ctx, j)
	}
	o, err := EngineOptions(j)
	if err != nil {
		return err
	}
	o.Beside = true // the run may be at work
	m, err := openMachine(j, o)
	if err != nil {
		return err
	}
	j.Opened(m.Close)
	j.API = m
	return nil
}

// openFleeting opens an engine that forgets its models when the process ends.
func openFleeting(j *job.Job) error {
	o, err := EngineOptions(j)
	if err != nil {
		return err
	}
	s, err := j.Fleeting(o)
	if err != nil {
		return err
	}
	j.Opened(s.Close)
	j.API = s
	return nil
}

// EngineOptions returns the options of the local engine for the job's models.
func EngineOptions(j *job.Job) (engine.Options, error) {
	seed := j.ID.Seed
	var ends []int32
	var err error
	if j.Model.Template != nil { // a base model may have none
		ends, err = j.Model.Template.StopIDs(j.Model.Tokenizer)
	}
	models := map[string]engine.Model{j.Model.Name: {Dir: j.Model.Dir, Tokens: j.Model.Tokenizer, EndTokens: ends}}
	maps.Copy(models, j.Teacher.Served)
	maps.Copy(models, j.Judge.Served(j.Model.Name))
	base, err2 := j.BaseDtype()
	o := engine.Options{Dir: j.Dir.Checkpoints(), Models: models, Threads: j.Threads, Order: j.Order, BaseDtype: base,
		Seed: &seed, FS: j.FS}
	o.Fit(j.Memory)
	return o, errors.Join(err, err2)
}

// openEngine opens the engine, and the journal around it if this process trains: sampling keeps nothing.
func openEngine(ctx context.Context, j *job.Job) error {
	o, err := EngineOptions(j)
	if err != nil {
		return err
	}
	if err := j.Dir.ImportState(j.Stage); err != nil {
		return err
	}
	o.Beside = j.Beside() || j.Config.Mode == config.Bench
	workers, err := openFleet(ctx, j, &o)
	if err != nil {
		return err
	}
	m, err := openMachine(j, o)
	if err != nil {
		return err
	}
	if workers != nil {
		workers.Bind(j.Engine)
	}
	if err := importAdapter(j, j.Engine); err != nil {
		return errors.Join(err, m.Close())
	}
	j.API, j.Durable = m, true
	if o.Beside {
		j.Opened(m.Close)
		return nil
	}
	log, err := journal.Open(ctx, j.Dir.File("tinker", "journal"), m, journal.Options{
		FS: j.FS, Local: true,
		Warn: func(msg string) { fmt.Fprintln(j.Out, "warning:", foreign.Text(msg)) },
	})
	if err != nil {
		return errors.Join(err, m.Close())
	}
	j.Opened(log.Close)
	j.API = log
	return nil
}

// openMachine opens the engine, or what a test has in its place.
func openMachine(j *job.Job, o engine.Options) (m journal.Machine, err error) {
	if j.Machine != nil {
		return j.Machine(o)
	}
	if j.Engine, err = engine.Open(o); err != nil {
		return nil, err
	}
	return j.Engine, nil
}
