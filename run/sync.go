package run

import (
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// openSync opens what brings weights from the trainer to those who sample, in the configuration's style.
func (l *loops) openSync() (err error) {
	s := l.Config.Synchronizer
	timeout := plan.Seconds(s.SyncTimeout)
	l.shared = synchronizer.Folder{FS: l.FS, Dir: l.Dir.Path}
	style := map[config.SyncStyle]synchronizer.Style{
		config.TrainerDriven: synchronizer.TrainerDriven, config.ExplorerDriven: synchronizer.ExplorerDriven,
		config.FullyAsync: synchronizer.FullyAsync, config.Newest: synchronizer.Newest,
	}[s.SyncStyle]
	if style == synchronizer.Fixed {
		l.sync = synchronizer.New(plan.Sync(l.Config), timeout)
	} else {
		l.order, err = synchronizer.OpenOrder(l.FS, l.Dir.File("log", "order"+l.Dir.Suffix()+".jsonl"), l.Now)
		if err != nil {
			return err
		}
		l.Opened(l.order.Close)
		l.sync = synchronizer.NewStyle(style, plan.Sync(l.Config), timeout, l.order)
	}
	if l.Config.Mode == config.Explore {
		name := l.Config.Explorer.Name
		l.sync.Tell = func(e synchronizer.ExplorerStatus) error { return l.shared.WriteExplorer(name, e) }
	}
	return nil
}

// publisher says after which of the steps weights are published; nil if nobody will sample with them. samples is the
// trainer's source, if an explorer makes them.
func (l *loops) publisher(steps int, samples synchronizer.Samples) trainer.Publisher {
	m := l.Config.Mode
	switch {
	case m.Explores() || m.Serves() || l.report != nil:
	case l.Staged:
		return synchronizer.AtTheEnd{Steps: steps} // the next stage may sample with them
	default:
		return nil
	}
	if l.Config.Synchronizer.SyncStyle != config.ExplorerDriven {
		return synchronizer.OnSchedule{Schedule: l.sync.Schedule, Steps: steps}
	}
	return synchronizer.OnRequest{Sync: l.sync, Folder: l.shared, Order: l.order, Samples: samples,
		Batch: l.Config.Buffer.TrainBatchSize, Steps: steps}
}
