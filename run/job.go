package run

import (
	"context"
	"errors"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// job is the model and the service of a run.
type job struct {
	Options
	cfg      *config.Config
	dir      string
	reckons  bool // an estimate: no server is asked, which could cost money
	identity jobdir.Identity
	backend  config.Backend
	method   *algorithm.Method

	gem bool // of trinity gem, whose keys have other names

	model        *baseModel
	teacher      teacher
	context      int             // tokens that a sequence may have for every model that reads it; 0: not known
	external     *openai.Service // nil unless model.external_model is evaluated
	judge        *judge          // nil: no workflow asks one
	engine       *engine.Engine  // nil on a server
	service      tinker.Service  // the engine, made durable; or a server
	remote       remote.Server   // that server; nil on the engine
	noted        []string        // what noteOnce has said
	start        string          // path of the state that the adapter begins with; empty: a fresh one
	startSampler string          // the same to sample from
	progress     *console.Progress
	closers      []func() error // of what was opened, in order
}

// durable says that the service keeps models through a restart of this process.
func (b *job) durable() bool { return b.backend.Kind == config.Local && b.fleeting == nil }

// aside reports whether the process samples beside a trainer in another one.
func (b *job) aside() bool { return jobdir.Aside(b.cfg) }

// folder is the job's folder.
func (b *job) folder() jobdir.Dir { return jobdir.Of(b.cfg, b.fs, b.dir) }

// opened remembers how to close a part.
func (b *job) opened(close func() error) { b.closers = append(b.closers, close) }

// close closes the parts in the opposite order of their making.
func (b *job) close() error {
	var errs []error
	for i := len(b.closers) - 1; i >= 0; i-- {
		errs = append(errs, b.closers[i]())
	}
	return errors.Join(errs...)
}

// build makes the model and the service.
func (b *job) build(ctx context.Context) error {
	if err := b.buildAlgorithm(ctx); err != nil {
		return err
	}
	if b.cfg.Model.ExternalModel.Enable {
		return b.buildExternal(ctx)
	}
	if err := b.beginStage(); err != nil {
		return err
	}
	return b.buildModels(ctx)
}

// buildModels makes what a model's folder says, and the service that trains and samples it.
func (b *job) buildModels(ctx context.Context) error {
	if err := b.buildModel(ctx); err != nil {
		return err
	}
	if err := b.buildDir(ctx); err != nil {
		return err
	}
	if err := b.buildTeacher(ctx); err != nil {
		return err
	}
	if err := b.buildJudge(ctx); err != nil {
		return err
	}
	if err := b.buildService(ctx); err != nil {
		return err
	}
	return b.buildContext(ctx)
}

// beginStage sets what the model of a later stage begins with.
func (b *job) beginStage() (err error) {
	b.start, b.startSampler, err = startOf(b.stage, b.backend.Kind == config.Local,
		b.cfg.Mode.Explores() || b.method.Needs().Ref)
	return err
}

// lock keeps a second process with one of this one's roles out of the job directory, until the job is closed.
func (b *job) lock(ctx context.Context, roles ...string) error {
	unlock, err := lockDir(ctx, b.Options, b.folder(), roles...)
	if err != nil {
		return err
	}
	b.opened(unlock)
	return nil
}
