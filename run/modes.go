package run

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// run runs the loops of the mode, and tells how it went.
func (l *loops) run(ctx context.Context) (*console.Summary, error) {
	ctx, cancel := l.WhileReachable(ctx)
	defer cancel()
	l.printPlan()
	l.Busy.With("measuring the engine")
	forecast, err := l.forecast(ctx)
	if err != nil {
		return nil, err
	}
	l.Busy.With("")
	if !l.Config.Mode.Serves() {
		l.Progress.Begin(max(0, l.monitor.Last()))
	}
	if forecast != "" {
		fmt.Fprintln(l.Out, "time    ", forecast)
	}
	err = l.serving(ctx, l.runMode)
	if err == nil && l.training.trainer != nil {
		err = l.training.events.KeepStates(ctx, l.training.trainer.Step())
	}
	l.Progress.Done()
	switch {
	case err != nil && errors.Is(context.Cause(ctx), job.ErrUnreachable):
		fmt.Fprintf(l.Out, "stopped in the middle: %s; the same command continues after the last complete step\n",
			foreign.Text(context.Cause(ctx).Error()))
		return nil, ErrInterrupted
	case errors.Is(err, ErrInterrupted):
		fmt.Fprintln(l.Out, "stopped; the same command continues with the unfinished groups")
		return nil, err
	case errors.Is(err, trainer.ErrInterrupted):
		fmt.Fprintf(l.Out, "stopped after step %d and saved; the same command continues from there\n",
			l.training.trainer.Step())
		return nil, ErrInterrupted
	case err != nil:
		return nil, err
	}
	l.monitor.Finish()
	return l.summarize()
}

func (l *loops) runMode(ctx context.Context) error {
	switch m := l.Config.Mode; m {
	case config.Both, config.Colocate:
		return l.both(ctx)
	case config.Train:
		if err := l.train(ctx); err != nil {
			return err
		}
		return l.exportModel()
	case config.Explore:
		return l.explore(ctx)
	case config.Serve:
		return l.serve(ctx)
	case config.ServeTrain:
		return l.serveAndTrain(ctx)
	case config.Bench:
		return l.bench(ctx)
	default:
		return fmt.Errorf("run: mode %s is not supported; choose both, explore, train, bench, serve and serve+train", m)
	}
}

// summarize reads the records back, draws reward.svg and tells the user how it went and where everything is.
func (l *loops) summarize() (*console.Summary, error) {
	if l.training.trainer != nil {
		if short := l.training.short(l.Config); short != "" {
			fmt.Fprintln(l.Out, "short   ", short)
		}
		if over := l.over(); over != "" {
			fmt.Fprintln(l.Out, "left    ", over)
		}
		if text := endless(l.Config.LoRA(), l.training.trainer.Ending()); text != "" {
			fmt.Fprintln(l.Out, "endless ", text)
		}
	}
	s, err := console.Summarize(l.Dir.Path, l.Dir.Metrics())
	if err != nil {
		return nil, err
	}
	if l.exploring.explorer != nil && l.training.trainer != nil && s.Rewarded() {
		if err := disk.Replace(l.FS, l.Dir.File("reward.svg"), s.DrawRewards); err != nil {
			return nil, err
		}
	}
	return s, s.Write(l.Out)
}

// both runs explorer and trainer side by side. Whichever fails ends the other; the trainer's end is the run's.
func (l *loops) both(ctx context.Context) error {
	if err := l.startUp(ctx); err != nil {
		return err
	}
	all := ctx
	g, ctx := errgroup.WithContext(ctx)
	wanted, finish := context.WithCancel(l.Stopping()) // until the trainer needs nothing more
	g.Go(func() error {
		err := l.exploring.explorer.Run(ctx, wanted)
		return errors.Join(err, l.exchange.Finish(ctx))
	})
	var trained error
	g.Go(func() error {
		defer l.sync.Stop()
		defer finish()
		trained = l.training.trainer.Run(ctx, l.Stopping())
		return trained
	})
	err := g.Wait()
	if errors.Is(err, synchronizer.ErrStopped) && trained != nil {
		return trained // the explorer only heard of its end
	}
	if err != nil {
		return err
	}
	return l.evaluateEnd(all)
}

// evaluateEnd evaluates what a run ends with that its data ended.
func (l *loops) evaluateEnd(ctx context.Context) error {
	ctx, cancel := l.WhileWanted(ctx)
	defer cancel()
	return l.training.events.Ended(ctx, l.training.trainer.Step())
}

// train runs the trainer, and tells explorers of other processes its state.
func (l *loops) train(ctx context.Context) error {
	if l.report == nil {
		return l.training.trainer.Run(ctx, l.Stopping())
	}
	if err := l.table.Fed(); err != nil {
		return err
	}
	err := l.training.trainer.Run(ctx, l.Stopping())
	return errors.Join(err, l.report.End(err == nil))
}

// explore runs the explorer beside a trainer in another process.
func (l *loops) explore(ctx context.Context) error {
	if err := l.sayTrainerDone(); err != nil {
		return err
	}
	return l.following(ctx, func(ctx context.Context) error {
		if err := l.startUp(ctx); err != nil {
			return err
		}
		if err := l.exploring.explorer.Run(ctx, l.Stopping()); err != nil {
			return err
		}
		if err := l.Stopping().Err(); err != nil {
			return err
		}
		return l.exchange.Finish(ctx)
	})
}

// following does work while what the trainer of another process publishes is followed, if there is a table between
// the two.
func (l *loops) following(ctx context.Context, work func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	follow, stop := context.WithCancel(ctx)
	if l.table != nil {
		g.Go(func() error { return l.shared.Follow(follow, l.sync, l.table.Total) })
	}
	g.Go(func() error {
		defer stop()
		return work(ctx)
	})
	return g.Wait()
}

// sayTrainerDone tells the user of an explorer that is planned longer that the trainer has to be started again too.
func (l *loops) sayTrainerDone() error {
	status, ok, err := l.shared.Trainer()
	if err == nil && ok && status.State == synchronizer.Done && l.exploring.first <= l.exploring.steps {
		l.Notes.Add(fmt.Sprintf("the trainer of this job was done with step %d; start it again with the longer "+
			"plan, or explore step %d may wait for its weights until synchronizer.sync_timeout is over",
			status.Step, l.exploring.first))
	}
	return err
}

// startUp publishes version 0 and evaluates it, unless that was done.
func (l *loops) startUp(ctx context.Context) error {
	if l.Config.Model.RandomInit {
		return errors.New("run: model.random_init begins without a model to sample from; " +
			"use it with mode train, and explore with what that run saved")
	}
	if !l.Config.Explorer.EvalOnStartup || len(l.exploring.evals) == 0 || l.monitor.Last() >= 0 {
		return nil
	}
	l.Progress.Phase("evaluating the model to begin with")
	ctx, cancel := l.WhileWanted(ctx)
	defer cancel()
	metrics, err := l.exploring.explorer.Evaluate(ctx, 0, l.Start.Sampler, "eval/")
	if err != nil {
		return err
	}
	return l.commitMetrics(0, "explorer", metrics)
}
