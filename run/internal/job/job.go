package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Job holds the open parts of a run. They are opened one after another, each with the help of the earlier ones; a part
// that is not open, or that the run does not have, is nil.
type Job struct {
	Options
	Config  *config.Config
	Backend config.Backend // where it trains
	Busy    *console.Busy  // told what the run is busy with; nil: nobody is
	Notes   *Notes

	Own       workflow.Own             // workflows and rewards that are not built in
	Operators map[string]pipeline.Make // the same of the experience pipeline
	Outside   outside.Parts            // what joins from outside
	Site      *Site                    // what it gets from the run

	Stage   jobdir.Stage // what the stages before this one left
	Staged  bool         // the run is a stage of several
	Offline bool         // no server is asked, which could cost money
	Gem     bool         // of trinity gem, whose keys have other names
	Dir     jobdir.Dir
	ID      jobdir.Identity

	Method   *algorithm.Method
	Progress *console.Progress

	Model    *Model // the one that is trained
	External *External
	Teacher  Teacher
	Judge    *Judge
	Start    jobdir.Start // the weights that training begins with
	Context  int          // tokens that a sequence may have for every model that reads it; 0: not known

	API     tinker.Service // what trains and samples
	Engine  *engine.Engine // behind API; nil on a server, and on the machine of a test
	Server  Server         // behind API; nil on the engine
	Durable bool           // API keeps models when this process ends

	Tools         env.Toolbox            // for environments
	RolloutServer workflow.Rollouts      // where rollout_workflow opens its own
	URL           func() (string, error) // serves the rollouts of plug-ins and started programs

	closers *closers
}

// Teacher is the model whose logprobs a distillation learns from.
type Teacher struct {
	Request tinker.SamplingClientRequest
	Served  map[string]engine.Model // what the local engine must serve for it
}

// New returns a job of which nothing is open. It must be closed.
func New(cfg *config.Config, o Options) *Job {
	o = o.withDefaults()
	return &Job{Options: o, Config: cfg, Own: workflow.Own{Workflows: o.Plugins.Workflows, Rewards: o.Plugins.Rewards},
		Operators: o.Plugins.Operators, Site: &Site{options: o}, Notes: NewNotes(o.Out), closers: &closers{}}
}

// For returns a job of another configuration, such as a stage, with the same options and the same outside, of which
// nothing else is open. dir is its folder.
func (j *Job) For(cfg *config.Config, backend config.Backend, dir string) *Job {
	return &Job{Options: j.Options, Config: cfg, Backend: backend, Busy: j.Busy, Notes: NewNotes(j.Out), Own: j.Own,
		Operators: j.Operators, Outside: j.Outside, Site: j.Site, Stage: j.Stage, Staged: j.Staged,
		Dir: jobdir.Of(cfg, j.FS, dir), Tools: j.Outside.Tools, closers: &closers{}}
}

// With returns the job with another configuration in place of its own.
func (j *Job) With(cfg *config.Config) *Job {
	other := *j
	other.Config = cfg
	return &other
}

// Join takes in what joins from outside. A name that the program brings too means the outside's part.
func (j *Job) Join(p outside.Parts) {
	j.Outside = p
	j.Own.Workflows = merged(j.Own.Workflows, p.Workflows)
	j.Own.Rewards = merged(j.Own.Rewards, p.Rewards)
	j.Own.Failed = p.Failed
	j.Operators = merged(j.Operators, p.Operators)
}

func merged[T any](a, b map[string]T) map[string]T {
	all := map[string]T{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// Environments are the native ones, with the data of the folder data, and those that join from outside.
func (j *Job) Environments(data string) (*env.Registry, error) {
	registry, err := game.Registry(data)
	if err != nil {
		return nil, err
	}
	for prefix, find := range j.Outside.Environments {
		registry = registry.With(prefix, find)
	}
	return registry, nil
}

// SayBusy has Out say what the run is busy with whenever nothing else was said for a while, until the job is closed. On
// a terminal the live line says it.
func (j *Job) SayBusy(ctx context.Context) {
	if j.Terminal || j.Out == io.Discard {
		return
	}
	j.Busy = console.NewBusy(j.Out)
	j.Out = j.Busy
	j.Notes, j.Site.options.Out = NewNotes(j.Out), j.Out
	j.Busy.With("starting")
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		j.Busy.Run(ctx)
	}()
	j.Opened(func() error {
		cancel()
		<-done
		return nil
	})
}

// Local reports whether the run is on the engine of this machine.
func (j *Job) Local() bool { return j.Backend.Kind == config.Local }

// Beside reports whether this process samples beside a trainer in another process.
func (j *Job) Beside() bool { return jobdir.Beside(j.Config) }

// Note tells the user something at once.
func (j *Job) Note(text string) { fmt.Fprintln(j.Out, "note:", foreign.Text(text)) }

// Warn warns the user; before there is progress to show, it notes.
func (j *Job) Warn(text string) {
	if j.Progress == nil {
		j.Notes.Add(text)
		return
	}
	j.Progress.Warn(text)
}

// OpenProgress opens progress and log/run.log.
func (j *Job) OpenProgress() (err error) {
	o := console.Options{Out: j.Out, Terminal: j.Terminal, Now: j.Now, Dir: j.Dir.Path, Level: j.Config.Log.Level,
		Busy: j.Busy}
	if j.Config.Mode.Serves() { // and waits for programs
		o.Busy = nil
	}
	if j.Progress, err = console.Open(o); err != nil {
		return err
	}
	j.Site.tell(j.Progress.Say)
	j.Opened(func() error {
		j.Site.tell(nil)
		return j.Progress.Close()
	})
	return nil
}

// Ask has the job's judge answer workflows, plug-ins and operators.
func (j *Job) Ask() {
	j.Judge.Use(j.API)
	j.Site.mu.Lock()
	defer j.Site.mu.Unlock()
	j.Site.judge = j.Judge
}

// TasksAt says which world has the tasks at a taskset's path, such as verifiers, and how they are read; "" is none.
func (j *Job) TasksAt(path string) (world string, read outside.Tasks) {
	for prefix, read := range j.Outside.Tasks {
		if strings.HasPrefix(path, prefix) {
			return strings.TrimSuffix(prefix, ":"), read
		}
	}
	return "", nil
}

// Lock keeps a second process with one of this one's roles out of the folder until the job is closed. It waits for a
// process that is about to end.
func (j *Job) Lock(ctx context.Context, roles ...string) error {
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	unlock, err := j.Dir.Lock(ctx, j.Out, roles...)
	if err == nil {
		j.Opened(unlock)
	}
	return err
}

// closers close the parts.
type closers struct{ list []func() error }

// Opened remembers how to close a part.
func (j *Job) Opened(close func() error) { j.closers.list = append(j.closers.list, close) }

// Close closes the parts, the last one first.
func (j *Job) Close() error {
	var errs []error
	list := j.closers.list
	j.closers.list = nil
	for i := len(list) - 1; i >= 0; i-- {
		errs = append(errs, list[i]())
	}
	return errors.Join(errs...)
}
