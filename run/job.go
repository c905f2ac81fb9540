package run

import (
	"context"
	"errors"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// job is the parts of a run.
type job struct {
	Options
	cfg      *config.Config
	dir      string
	reckons  bool // an estimate: no server is asked, which could cost money
	identity identity
	backend  config.Backend
	method   *algorithm.Method
	steps    int  // train steps in all; 0 when only the data's end tells
	explored int  // explore steps in all; likewise
	gem      bool // of trinity gem, whose keys have other names
	lost     int  // train steps that are done again, as the server lost the model

	model        *baseModel
	teacher      teacher
	context      int            // tokens that a sequence may have for every model that reads it; 0: not known
	external     *external      // nil unless model.external_model is evaluated
	judge        *judge         // nil: no workflow asks one
	engine       *engine.Engine // nil on a server
	service      tinker.Service // the engine, made durable; or a server
	remote       reacher        // that server; nil on the engine
	noted        []string       // what noteOnce has said
	republish    []int          // versions that the trainer publishes before it begins
	replaced     map[int]string // the paths that they had
	start        string         // path of the state that the adapter begins with; empty: a fresh one
	startSampler string         // the same to sample from
	store        *buffer.Store
	sync         *synchronizer.Synchronizer
	monitor      *monitor.Monitor
	outlet       outlet              // of the explorer
	source       *samples            // of the trainer, when it reads what an explorer puts
	table        *sqlFeed            // both, when they are a table
	order        *synchronizer.Order // nil where the order of events decides nothing
	folder       synchronizer.Folder
	status       synchronizer.TrainerStatus // last written
	failed       error                      // where an error could not be returned
	explorer     *explorer.Explorer
	evals        []explorer.Taskset
	tasks        *tasks // trained on
	trainer      *trainer.Trainer
	progress     *progress
	closers      []func() error // of what was opened, in order
}

// durable says that the service keeps models through a restart of this process.
func (b *job) durable() bool { return b.backend.Kind == config.Local && b.fleeting == nil }

// prefix begins the names of a job's checkpoints, as upstream's do.
func prefix(cfg *config.Config) string {
	var parts []string
	for _, p := range []string{cfg.Project, cfg.Group, cfg.Name} {
		if p = strings.Map(fileRune, p); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "-")
}

func fileRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+=@", r) {
		return r
	}
	return '_'
}

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

// build makes all parts. On an error what was opened is closed again.
func build(ctx context.Context, cfg *config.Config, backend config.Backend, o Options) (*job, error) {
	b := &job{Options: o, cfg: cfg, backend: backend, dir: cfg.JobDir()}
	b.opened(o.seen.Close)
	parts := []func(context.Context) error{
		b.buildAlgorithm, b.beginStage, b.buildModel, b.buildDir, b.buildTeacher, b.buildJudge, b.buildService,
		b.buildContext, b.buildBuffer, b.buildRecords, b.buildLoops,
	}
	if cfg.Model.ExternalModel.Enable {
		parts = []func(context.Context) error{b.buildAlgorithm, b.buildExternal, b.buildRecords, b.buildLoops}
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, errors.Join(err, b.close())
		}
	}
	return b, nil
}
