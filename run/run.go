// Package run wires a configuration into a running job: model, service, data, loops, records. It is the only package
// that knows all the others; everything it builds is built here by hand, so go-to-definition reaches every part.
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
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
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
	// Find turns a path of the configuration into where the file is; nil is the path itself. The program uses it to
	// serve the example that it carries.
	Find func(path string) string
	// Hub resolves names of models and data sets that Find does not lead to; nil: there are local files only.
	Hub *hub.Hub
	// Plugins are parts that the program brings, by the names that its configurations use.
	Plugins Plugins
	// Wrap lets a caller put something of its own around the service; nil leaves it.
	Wrap func(tinker.Service) tinker.Service

	fs   disk.FS     // disk.OS; tests put one in its place that fails
	seen *Inspection // what Run has looked at before it builds anything

	staged bool         // the run is a stage of several
	stage  jobdir.Stage // what the stages before it left

	score func(algorithm.Advantage) algorithm.Advantage // for tests: a control of what the advantages do
	// for tests: a service that loses its models when the process ends
	fleeting func(*job) (tinker.Service, error)
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
	if o.Stop == nil {
		o.Stop = make(chan struct{})
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	return o
}

// ErrInterrupted is Run's error when Stop was closed: the job is saved and goes on when it is started again.
var ErrInterrupted = errors.New("run: interrupted")

// Run does what the configuration says until it is done, ctx ends, or Stop is closed.
func Run(ctx context.Context, cfg *config.Config, o Options) (*console.Summary, error) {
	o = o.withDefaults()
	if len(cfg.Stages) > 0 {
		if err := o.inspected(ctx, cfg); err != nil { // of all stages before the first begins
			return nil, err
		}
		return runStages(ctx, cfg, o)
	}
	return runOne(ctx, cfg, o)
}

// inspected refuses a configuration that trinity validate refuses.
func (o Options) inspected(ctx context.Context, cfg *config.Config) error {
	in, err := Inspect(ctx, cfg, o)
	if err != nil {
		return err
	}
	return in.Close()
}

// runOne runs a configuration without stages, or one stage; and once more whenever the server lost what the run had
// there: a start on a server continues behind the last saved state, whether the process or the server was restarted.
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
	// nothing is under way yet that could be finished
	release := watchStop(ctx, o.Stop, func() { cancel(ErrInterrupted) })
	b, l, err := build(ctx, cfg, backend, o)
	release()
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		if err == nil {
			if err := b.close(); err != nil {
				return nil, err
			}
		}
		fmt.Fprintln(o.Out, "stopped before the job was at work; the same command starts it")
		return nil, ErrInterrupted
	}
	if err != nil {
		return nil, err
	}
	sum, err := l.run(ctx, b)
	return sum, errors.Join(err, b.close())
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

// build makes everything that a run consists of. On an error what was opened is closed again.
func build(
	ctx context.Context, cfg *config.Config, backend config.Backend, o Options,
) (b *job, l *loops, err error) {
	if o.seen, err = Inspect(ctx, cfg, o); err != nil {
		return nil, nil, err
	}
	b = &job{Options: o, cfg: cfg, backend: backend, dir: cfg.JobDir()}
	b.opened(o.seen.Close)
	if err = b.build(ctx); err == nil {
		l, err = buildLoops(ctx, b)
	}
	if err != nil {
		return nil, nil, errors.Join(err, b.close())
	}
	return b, l, nil
}
