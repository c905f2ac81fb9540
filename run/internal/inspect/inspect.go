// Package inspect looks at a configuration before anything is built of it: every part that needs no service is made,
// nothing is written, and no server is asked. Every mistake is reported with its key. The rest is what a budget is
// estimated from.
package inspect

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/agent"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// Inspection is a configuration without stages, or a stage, with what it names. It must be closed.
type Inspection struct {
	site    site.Site
	cfg     *config.Config
	backend config.Backend
	folder  jobdir.Dir
	later   bool // a stage after others, which may read what those write

	findings
	notes   *site.Notes
	closers site.Closers

	parts
	work
}

// parts are what the configuration names; what is missing or wrong is nil.
type parts struct {
	method   *algorithm.Method
	model    *base.Model
	external *openai.Service
	judge    *service.Judge
	teacher  service.Teacher
	date     time.Time // of the job, or now
	context  int       // of the model; 0: not known
}

// work is what there is to do.
type work struct {
	train    explorer.Taskset     // what is trained on; no tasks where it is not known
	tasks    *data.Tasks          // its tasks
	steps    int                  // train steps; 0 where only the data's end tells
	explored int                  // explore steps
	examples *supervised.Examples // of sft and dpo
	prepared bool                 // what the task pipeline makes is there
}

// Open inspects a configuration. The error joins one [*config.Problem] for each thing that is wrong. later says that it
// is a stage after others.
func Open(ctx context.Context, cfg *config.Config, backend config.Backend, s site.Site, later bool) (*Inspection,
	error) {
	s.Out = io.Discard // notes are kept
	in := &Inspection{site: s, cfg: cfg, backend: backend, later: later,
		folder: jobdir.Of(cfg, s.FS, cfg.JobDir()), notes: site.NewNotes(s.Out)}
	in.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := config.Problems(in.found); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Close closes what was opened.
func (in *Inspection) Close() error { return in.closers.Close() }

// Unknown is what cannot be looked up here, such as a model that is not downloaded yet.
func (in *Inspection) Unknown() []string { return in.unknown }

// Notes is what the parts say of arguments that they do not use.
func (in *Inspection) Notes() []string { return in.notes.List() }

// Model is the model as it was read, nil if it was not.
func (in *Inspection) Model() *base.Model { return in.model }

// Steps is how many train steps are planned, 0 where that is not known.
func (in *Inspection) Steps() int { return in.steps }

// finder finds models.
func (in *Inspection) finder() service.Finder {
	return service.Finder{Site: in.site, Config: in.cfg, Backend: in.backend, Offline: true}
}

// data opens the data of cfg: the configuration, or one with other tasksets.
func (in *Inspection) data(cfg *config.Config) data.Opener {
	// which start nothing here
	agents, servers := agent.New(agent.Options{}), verifiers.New(verifiers.Options{})
	return data.Opener{Site: in.site, Config: cfg, Method: in.method, Model: in.model, External: in.external,
		Judge: in.judge, Context: in.context, Date: in.date, Note: in.notes.Add, Warn: in.notes.Add,
		Opened: in.closers.Add, Tools: tool.Closed{Box: tool.NewBox(tool.Options{LookupEnv: in.site.LookupEnv})},
		Carriers: map[string]workflow.Carrier{"agent": agents, "verifiers": servers}}
}

// look makes one part after the other. A part whose needs are not there is left out: what is missing has been said.
func (in *Inspection) look(ctx context.Context) {
	var err error
	in.method, err = plan.Method(in.cfg, in.site.Own.Tables)
	known := in.add("algorithm", err)
	in.mode()
	in.lookAtIdle()
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
