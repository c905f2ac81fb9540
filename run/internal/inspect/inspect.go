// Package inspect looks at a configuration before anything is built of it: every part that needs no service is made,
// nothing is written, and no server is asked. Every mistake is reported with its key. The rest feeds the estimate
// of a budget.
package inspect

import (
	"context"
	"errors"
	"io"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/supervised"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// Inspection is a configuration without stages, or a stage, with the parts that it names: nil is one that is missing or
// wrong. It must be closed.
type Inspection struct {
	*job.Job
	later bool // a stage after others, which may read what those write

	findings
	work
}

// work is the work that the configuration asks for.
type work struct {
	train    explorer.Taskset     // what is trained on; no tasks where it is not known
	tasks    *data.Tasks          // its tasks
	steps    int                  // train steps; 0 if only the data's end tells
	explored int                  // explore steps
	examples *supervised.Examples // of sft and dpo
	prepared bool                 // what the task pipeline makes is there
}

// Open inspects a job's configuration. The error joins one [*config.Problem] for each thing that is wrong. later says
// that it is a stage after others.
func Open(ctx context.Context, j *job.Job, later bool) (*Inspection, error) {
	in := &Inspection{Job: j.For(j.Config, j.Backend, j.Dir.Path), later: later}
	in.Out, in.Busy, in.Notes = io.Discard, nil, job.NewNotes(io.Discard) // notes are kept
	in.Offline, in.Tools = true, unopened{j.Outside.Tools}
	in.look(ctx)
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := config.Problems(in.found); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// unopened are tools that are named and stay closed.
type unopened struct{ env.Toolbox }

// Wrappers implements env.Toolbox.
func (u unopened) Wrappers(_ context.Context, s env.ToolSpec) (map[string]env.Wrapper, error) {
	return u.Names(s)
}

// Unknown lists what cannot be looked up here, such as a model that is not downloaded yet.
func (in *Inspection) Unknown() []string { return in.unknown }

// Steps is how many train steps are planned, 0 if that is not known.
func (in *Inspection) Steps() int { return in.steps }

// look makes one part after the other. A part whose needs are not there is left out: what is missing has been said.
func (in *Inspection) look(ctx context.Context) {
	var err error
	in.Method, err = plan.Method(in.Config, in.Plugins.Tables())
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
