// Package run wires a configuration into a running job: model, service, data, loops, records. It is the only package that
// knows all the others; everything it builds is built here by hand, so go-to-definition reaches every part.
//
// Start reading at Run.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/hf/hub"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
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
	// Find turns a path of the configuration into where the file is; nil is the path itself. The program uses it to serve
	// the example that it carries.
	Find func(path string) string
	// Hub resolves names of models and data sets that Find does not lead to; nil: there are local files only.
	Hub *hub.Hub
	// Plugins are parts that the program brings, by the names that its configurations use.
	Plugins Plugins
	// Wrap lets a caller put something of its own around the service; nil leaves it.
	Wrap func(tinker.Service) tinker.Service

	fs    disk.FS     // disk.OS; tests put one in its place that fails
	seen  *Inspection // what Run has looked at before it builds anything
	stage *stage      // set when the run is a stage of several

	score    func(algorithm.Advantage) algorithm.Advantage // for tests: a control of what the advantages do
	fleeting func(*job) (tinker.Service, error)            // for tests: a service that loses its models when the process ends
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
func Run(ctx context.Context, cfg *config.Config, o Options) (*Summary, error) {
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

// runOne runs a configuration without stages, or one stage.
func runOne(ctx context.Context, cfg *config.Config, o Options) (*Summary, error) {
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
	return goingBack(ctx, cfg, backend, o)
}

// run runs the loops of the mode.
func (b *job) run(ctx context.Context) (*Summary, error) {
	ctx, cancel := b.whileReachable(ctx)
	defer cancel()
	b.progress.plan(b)
	forecast, err := b.forecast(ctx)
	if err != nil {
		return nil, err
	}
	if forecast != "" {
		fmt.Fprintln(b.Out, "time    ", forecast)
	}
	switch b.cfg.Mode {
	case config.Both, config.Colocate:
		err = b.both(ctx)
	case config.Train:
		if err = b.train(ctx); err == nil {
			err = b.export(b.trainer.Step())
		}
	case config.Explore:
		err = b.explore(ctx)
	case config.Serve:
		err = b.serve(ctx)
	case config.ServeTrain:
		err = b.serveAndTrain(ctx)
	case config.Bench:
		err = b.bench(ctx)
	default:
		err = fmt.Errorf("run: mode %s is not in this version; there are both, explore, train, bench, serve and serve+train", b.cfg.Mode)
	}
	if err == nil && b.trainer != nil {
		err = b.keepCheckpoints(ctx, b.trainer.Step())
	}
	b.progress.done()
	if err != nil && errors.Is(context.Cause(ctx), errUnreachable) {
		fmt.Fprintf(b.Out, "stopped in the middle: %v; the same command goes on behind the last whole step\n", context.Cause(ctx))
		return nil, ErrInterrupted
	}
	if errors.Is(err, ErrInterrupted) {
		fmt.Fprintln(b.Out, "stopped; the same command goes on with the groups that are not finished")
		return nil, err
	}
	if errors.Is(err, trainer.ErrInterrupted) {
		fmt.Fprintf(b.Out, "stopped after step %d and saved; the same command goes on from there\n", b.trainer.Step())
		return nil, ErrInterrupted
	}
	if err != nil {
		return nil, err
	}
	b.monitor.Finish()
	b.sayShort()
	return b.summarize()
}

// both runs explorer and trainer side by side. Whichever fails ends the other; the trainer's end is the run's.
func (b *job) both(ctx context.Context) error {
	if err := b.startUp(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	finished := make(chan struct{}) // the trainer needs nothing more
	g.Go(func() error {
		err := b.explorer.Run(ctx, either(ctx, finished, b.Stop))
		return errors.Join(err, b.outlet.finish(ctx))
	})
	var trained error
	g.Go(func() error {
		defer b.sync.Stop()
		defer close(finished)
		trained = b.trainer.Run(ctx, b.Stop)
		return trained
	})
	err := g.Wait()
	if errors.Is(err, synchronizer.ErrStopped) && trained != nil {
		return trained // the explorer only heard of its end
	}
	return err
}

// train runs the trainer, and tells explorers of other processes how it stands.
func (b *job) train(ctx context.Context) error {
	if !b.followed() {
		return b.trainer.Run(ctx, b.Stop)
	}
	if err := b.starved(-1); err != nil {
		return err
	}
	err := b.trainer.Run(ctx, b.Stop)
	status := synchronizer.TrainerStatus{State: synchronizer.Done, Step: b.trainer.Step()}
	if err != nil {
		status.State = synchronizer.Interrupted
	}
	return errors.Join(err, b.folder.WriteTrainer(status))
}

// explore runs the explorer beside a trainer in another process.
func (b *job) explore(ctx context.Context) error {
	if err := b.sayTrainerDone(); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	follow, stop := context.WithCancel(ctx)
	if b.table != nil {
		g.Go(func() error { return b.folder.Follow(follow, b.sync, b.table.table.Total) })
	}
	g.Go(func() error {
		defer stop()
		if err := b.startUp(ctx); err != nil {
			return err
		}
		if err := b.explorer.Run(ctx, b.Stop); err != nil {
			return err
		}
		select {
		case <-b.Stop:
			return ErrInterrupted
		default:
			return b.outlet.finish(ctx)
		}
	})
	return g.Wait()
}

// either is closed when a or b is.
func either(ctx context.Context, a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		select {
		case <-a:
		case <-b:
		case <-ctx.Done():
		}
	}()
	return c
}

// startUp publishes version 0 and evaluates it, unless that was done.
func (b *job) startUp(ctx context.Context) error {
	if b.cfg.Model.RandomInit {
		return errors.New("run: model.random_init begins without a model to sample from; use it with mode train, and explore with what that run saved")
	}
	if !b.cfg.Explorer.EvalOnStartup || len(b.evals) == 0 || b.monitor.Last() >= 0 {
		return nil
	}
	b.progress.phase("evaluating the model to begin with")
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	metrics, err := b.explorer.Evaluate(ctx, 0, b.startSampler, "eval/")
	if err != nil {
		return err
	}
	b.monitor.Add(0, "explorer", metrics)
	line, err := b.monitor.Commit(0)
	if err != nil {
		return err
	}
	b.progress.step(0, line)
	return nil
}
