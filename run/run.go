// Package run wires a configuration into a running job: model, service, data, loops, records. It is the only package
// that knows all the others. Nothing is registered or injected, so go-to-definition reaches every part.
//
// Start reading at Run.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/engine/journal"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Options are what a run gets from its surroundings rather than from its configuration.
type Options struct {
	Out       io.Writer                   // progress and summary
	Terminal  bool                        // Out is a terminal: a live line is shown
	Stop      <-chan struct{}             // closed: finish the step, save, end
	LookupEnv func(string) (string, bool) // os.LookupEnv in the program
	Now       func() time.Time            // time.Now by default
	Threads   int                         // of the local engine; 0 is all
	Order     string                      // of bf16 sums in a new job, as engine.Options has it
	Memory    int64                       // of the machine, in bytes; 0 is not known
	// Find turns a path of the configuration into where the file is; nil is the path itself. The program uses it to
	// serve the example that it carries.
	Find func(path string) string
	// Hub resolves names of models and data sets that Find does not lead to; nil: there are local files only.
	Hub *hub.Hub
	// Cache is a folder for what is made of other files, such as the model folder of a GGUF file; "": none can be made.
	Cache string
	// Ollama are the folders where Ollama's store may be, in the order they are searched; nil: nowhere.
	Ollama []string
	// Plugins are parts that the program brings, by the names that its configurations use.
	Plugins Plugins
	// Python is the Python of plug-in files.
	Python Python
	// Fleet is the address where workers connect to trinity gem; a run has it in its configuration.
	Fleet string
	// Version is the program's, which the workers of a fleet must have too.
	Version string
	// Rollouts is the address to serve the URLs of rollouts at; "": explorer.listen_address and explorer.proxy_port, if
	// a taskset has rollout_workflow.
	Rollouts string
	// Sandboxes says that the program's main begins with tool.Stage of rl/tool, so that code which models write can run
	// in a sandbox.
	Sandboxes bool
	// Wrap lets a caller put something of its own around the service; nil leaves it.
	Wrap func(tinker.Service) tinker.Service

	fs disk.FS // disk.OS; tests put one in its place that fails

	python   *plugins            // what is loaded; nil: nothing is
	tasksets *verifiers.Tasksets // the tasks of environments of verifiers, which are read once
	servers  *servers            // of OpenEnv; nil: there are none
	// player is who plays environments of verifiers, and how it samples; nil: no model
	player func() (*base.Model, tinker.SamplingParams, error)

	busy *console.Busy // what Out is, unless that is a terminal

	staged bool         // the run is a stage of several
	stage  jobdir.Stage // what the stages before it left

	tools env.Toolbox // for tests: in place of what the configuration names
	// for tests: a service that loses its models when the process ends
	fleeting func(engine.Options) (tinker.Service, error)
	machine  func(engine.Options) (journal.Machine, error) // for tests: in place of the engine
}

func (o Options) withDefaults() Options {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.fs == nil {
		o.fs = disk.OS()
	}
	if o.Find == nil {
		o.Find = func(path string) string { return path }
	}
	if o.tasksets == nil {
		o.tasksets = &verifiers.Tasksets{}
	}
	if o.Stop == nil {
		o.Stop = make(chan struct{})
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	return o
}

// withBusy has what is busy without a line said where nobody sees a live line, until the function is called.
func (o Options) withBusy(ctx context.Context) (Options, func()) {
	if o.Terminal || o.Out == io.Discard {
		return o, func() {}
	}
	o.busy = console.NewBusy(o.Out)
	o.Out = o.busy
	o.busy.With("starting")
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.busy.Run(ctx)
	}()
	return o, func() {
		cancel()
		<-done
	}
}

// site is what the parts of a run get of the options.
func (o Options) site() site.Site {
	own := site.Own{Own: o.Plugins.workflows(), Operators: o.Plugins.Operators, Selectors: o.Plugins.Selectors,
		Monitors: o.Plugins.Monitors, Tables: o.Plugins.functions()}
	o.python.into(&own)
	own.Tasksets = o.verifiersTasks
	if o.servers != nil {
		own.Servers = o.servers.source.Spec
	}
	return site.Site{Out: o.Out, Terminal: o.Terminal, Busy: o.busy, Stop: o.Stop, LookupEnv: o.LookupEnv, Now: o.Now,
		Threads: o.Threads, Order: o.Order, Memory: o.Memory, Find: o.Find, Hub: o.Hub, Cache: o.Cache,
		Ollama: o.Ollama, FS: o.fs, Own: own,
		Rollouts: o.Rollouts, Sandboxes: o.Sandboxes, Version: o.Version, Python: o.Python.Executable,
		Imports: o.Python.Path}
}

// ErrInterrupted is Run's error when Stop was closed: the job is saved, and the next start continues it.
var ErrInterrupted = site.ErrInterrupted

// Run does what the configuration says until it is done, ctx ends, or Stop is closed.
func Run(ctx context.Context, cfg *config.Config, o Options) (sum *console.Summary, err error) {
	o, quiet := o.withDefaults().withBusy(ctx)
	defer quiet()
	if o, err = o.withPython(ctx, cfg); err != nil {
		return nil, err
	}
	o = o.withServers(ctx, playedIDs(cfg)...)
	defer func() { err = errors.Join(err, o.servers.Close(), o.python.Close()) }()
	if len(cfg.Stages) > 0 {
		return runStages(ctx, cfg, o)
	}
	return runOne(ctx, cfg, o)
}

// runOne runs a configuration without stages, or one stage; and once more whenever the server lost what the run had
// there: a start on a server continues after the last saved state, whether the process or the server was restarted.
func runOne(ctx context.Context, cfg *config.Config, o Options) (*console.Summary, error) {
	backend, err := backendOf(cfg, o)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(o.Out, backend.Reason)
	for _, note := range cfg.Notes() {
		fmt.Fprintln(o.Out, "note:", note)
	}
	if !cfg.Continue && cfg.Mode != config.Bench { // which evaluates what is there
		cfg.StartFresh(o.Now())
	}
	var back remote.Back
	for {
		sum, err := once(ctx, cfg, backend, o)
		if !errors.Is(err, tinker.ErrLost) || ctx.Err() != nil {
			return sum, err
		}
		state, rerr := trainer.ReadState(cfg.JobDir(), cfg.Trainer.Name)
		if rerr != nil {
			return nil, errors.Join(err, rerr)
		}
		if err := back.To(state.Saved, err, o.Out); err != nil {
			return nil, err
		}
	}
}

// once builds a run and runs it to its end.
func once(ctx context.Context, cfg *config.Config, backend config.Backend, o Options) (*console.Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var closers site.Closers
	// nothing is under way yet that could be finished
	release := watchStop(ctx, o.Stop, func() { cancel(ErrInterrupted) })
	l, err := build(ctx, cfg, backend, o, &closers)
	release()
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		if cerr := closers.Close(); err == nil && cerr != nil {
			return nil, cerr
		}
		return nil, o.stoppedEarly()
	}
	if err != nil {
		return nil, errors.Join(err, closers.Close())
	}
	sum, err := l.run(ctx)
	return sum, errors.Join(err, closers.Close())
}

// watchStop calls end when stop is closed, and returns what ends the watch.
func watchStop(ctx context.Context, stop <-chan struct{}, end func()) (release func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
			end()
		case <-ctx.Done():
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// build makes everything that a run consists of. What is opened is added to closers, on an error too.
func build(
	ctx context.Context, cfg *config.Config, backend config.Backend, o Options, closers *site.Closers,
) (*loops, error) {
	set := newSetting(cfg, backend, o, cfg.JobDir(), closers)
	o.busy.With("checking the configuration, the model and the data")
	seen, err := inspect.Open(ctx, cfg, backend, set.site, o.stage.State != "")
	if err != nil {
		return nil, err
	}
	closers.Add(seen.Close)
	method, err := plan.Method(cfg, set.site.Own.Tables)
	if err != nil {
		return nil, err
	}
	o.busy.With("opening the model and what trains it")
	m, progress, err := openModels(ctx, &set, o, method, seen.Model())
	if err != nil {
		return nil, err
	}
	say := teller{progress: progress, notes: site.NewNotes(o.Out)}
	tools := set.toolbox(func(note string) { progress.Say("note: " + note) })
	return buildLoops(ctx, parts{setting: set, method: method, models: m, say: say, tools: tools}, seen)
}
