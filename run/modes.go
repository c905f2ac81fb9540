package run

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/bench"
	"github.com/seed-d9ad8ee0/trinity/loop/remote"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// run runs the loops of the mode, and tells how it went.
func (l *loops) run(ctx context.Context, b *job) (*console.Summary, error) {
	ctx, cancel := remote.WhileReachable(ctx, b.Stop, b.remote)
	defer cancel()
	l.sayPlan(b)
	forecast, err := l.forecast(ctx, b)
	if err != nil {
		return nil, err
	}
	if forecast != "" {
		fmt.Fprintln(b.Out, "time    ", forecast)
	}
	err = l.runMode(ctx, b)
	if err == nil && l.training.trainer != nil {
		err = l.training.events.KeepStates(ctx, l.training.trainer.Step())
	}
	b.progress.Done()
	switch {
	case err != nil && errors.Is(context.Cause(ctx), remote.ErrUnreachable):
		fmt.Fprintf(b.Out, "stopped in the middle: %v; the same command goes on behind the last whole step\n",
			context.Cause(ctx))
		return nil, ErrInterrupted
	case errors.Is(err, ErrInterrupted):
		fmt.Fprintln(b.Out, "stopped; the same command goes on with the groups that are not finished")
		return nil, err
	case errors.Is(err, trainer.ErrInterrupted):
		fmt.Fprintf(b.Out, "stopped after step %d and saved; the same command goes on from there\n",
			l.training.trainer.Step())
		return nil, ErrInterrupted
	case err != nil:
		return nil, err
	}
	l.monitor.Finish()
	return l.summarize(b)
}

func (l *loops) runMode(ctx context.Context, b *job) error {
	switch m := b.cfg.Mode; m {
	case config.Both, config.Colocate:
		return l.both(ctx, b)
	case config.Train:
		if err := l.train(ctx, b); err != nil {
			return err
		}
		return l.exportModel(b)
	case config.Explore:
		return l.explore(ctx, b)
	case config.Serve:
		return l.serve(ctx, b)
	case config.ServeTrain:
		return l.serveAndTrain(ctx, b)
	case config.Bench:
		return l.bench(ctx, b)
	default:
		return fmt.Errorf("run: mode %s is not in this version; there are both, explore, train, bench, serve and "+
			"serve+train", m)
	}
}

// summarize reads the records back, draws reward.svg and tells the user how it went and where everything is.
func (l *loops) summarize(b *job) (*console.Summary, error) {
	if l.training.trainer != nil {
		if short := l.training.short(b.cfg); short != "" {
			fmt.Fprintln(b.Out, "short   ", short)
		}
	}
	s, err := console.Summarize(b.dir, b.folder().Metrics())
	if err != nil {
		return nil, err
	}
	if l.exploring.explorer != nil && l.training.trainer != nil && s.Rewarded() {
		if err := disk.Replace(b.fs, b.folder().File("reward.svg"), s.DrawRewards); err != nil {
			return nil, err
		}
	}
	return s, s.Write(b.Out)
}

// both runs explorer and trainer side by side. Whichever fails ends the other; the trainer's end is the run's.
func (l *loops) both(ctx context.Context, b *job) error {
	if err := l.startUp(ctx, b); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	finished := make(chan struct{}) // the trainer needs nothing more
	g.Go(func() error {
		err := l.exploring.explorer.Run(ctx, either(ctx, finished, b.Stop))
		return errors.Join(err, l.between.exchange.Finish(ctx))
	})
	var trained error
	g.Go(func() error {
		defer l.travel.sync.Stop()
		defer close(finished)
		trained = l.training.trainer.Run(ctx, b.Stop)
		return trained
	})
	err := g.Wait()
	if errors.Is(err, synchronizer.ErrStopped) && trained != nil {
		return trained // the explorer only heard of its end
	}
	return err
}

// train runs the trainer, and tells explorers of other processes how it stands.
func (l *loops) train(ctx context.Context, b *job) error {
	if l.between.report == nil {
		return l.training.trainer.Run(ctx, b.Stop)
	}
	if err := l.between.table.Fed(); err != nil {
		return err
	}
	err := l.training.trainer.Run(ctx, b.Stop)
	return errors.Join(err, l.between.report.End(err == nil))
}

// explore runs the explorer beside a trainer in another process.
func (l *loops) explore(ctx context.Context, b *job) error {
	if err := l.sayTrainerDone(b); err != nil {
		return err
	}
	return l.following(ctx, func(ctx context.Context) error {
		if err := l.startUp(ctx, b); err != nil {
			return err
		}
		if err := l.exploring.explorer.Run(ctx, b.Stop); err != nil {
			return err
		}
		select {
		case <-b.Stop:
			return ErrInterrupted
		default:
			return l.between.exchange.Finish(ctx)
		}
	})
}

// following does work while what the trainer of another process publishes is followed, if there is a table between
// the two.
func (l *loops) following(ctx context.Context, work func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	follow, stop := context.WithCancel(ctx)
	if l.between.table != nil {
		g.Go(func() error { return l.travel.folder.Follow(follow, l.travel.sync, l.between.table.Total) })
	}
	g.Go(func() error {
		defer stop()
		return work(ctx)
	})
	return g.Wait()
}

// sayTrainerDone tells the user of an explorer that is planned longer that the trainer has to be started again too.
func (l *loops) sayTrainerDone(b *job) error {
	status, ok, err := l.travel.folder.Trainer()
	if err == nil && ok && status.State == synchronizer.Done && l.exploring.first <= l.exploring.steps {
		b.noteOnce("the trainer of this job was done with step %d; start it again with the longer plan, "+
			"or explore step %d may wait for its weights until synchronizer.sync_timeout is over",
			status.Step, l.exploring.first)
	}
	return err
}

// bench evaluates the model as it is and the states that the job has saved.
func (l *loops) bench(ctx context.Context, b *job) error {
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	e := bench.Bench{Weights: l.weights, Explorer: l.exploring.explorer, Monitor: l.monitor, Progress: b.progress,
		Role:  jobdir.Benchmark,
		Start: b.startSampler, Samples: b.backend.Kind == config.Local,
		First: b.cfg.Explorer.EvalOnStartup, Latest: b.cfg.Explorer.BenchOnLatestCheckpoint}
	return e.Run(ctx)
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
func (l *loops) startUp(ctx context.Context, b *job) error {
	if b.cfg.Model.RandomInit {
		return errors.New("run: model.random_init begins without a model to sample from; " +
			"use it with mode train, and explore with what that run saved")
	}
	if !b.cfg.Explorer.EvalOnStartup || len(l.exploring.evals) == 0 || l.monitor.Last() >= 0 {
		return nil
	}
	b.progress.Phase("evaluating the model to begin with")
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	metrics, err := l.exploring.explorer.Evaluate(ctx, 0, b.startSampler, "eval/")
	if err != nil {
		return err
	}
	l.monitor.Add(0, "explorer", metrics)
	line, err := l.monitor.Commit(0)
	if err != nil {
		return err
	}
	b.progress.Step(0, line)
	return nil
}
