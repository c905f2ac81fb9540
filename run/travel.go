package run

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
)

// travel is how weights come from the trainer to those who sample.
type travel struct {
	sync   *synchronizer.Synchronizer
	folder synchronizer.Folder
	order  *synchronizer.Order // nil where the order of events decides nothing
}

// openTravel makes the synchronizer of the configuration's style.
func openTravel(cfg *config.Config, d jobdir.Dir, now func() time.Time, opened func(func() error)) (t travel,
	err error) {
	s := cfg.Synchronizer
	timeout := plan.Seconds(s.SyncTimeout)
	t.folder = synchronizer.Folder{FS: d.FS, Dir: d.Path}
	style := map[config.SyncStyle]synchronizer.Style{
		config.TrainerDriven: synchronizer.TrainerDriven, config.ExplorerDriven: synchronizer.ExplorerDriven,
	}[s.SyncStyle]
	if style == synchronizer.Fixed {
		t.sync = synchronizer.New(plan.Sync(cfg), timeout)
	} else {
		if t.order, err = synchronizer.OpenOrder(d.FS, d.File("log", "order"+d.Suffix()+".jsonl"), now); err != nil {
			return t, err
		}
		opened(t.order.Close)
		t.sync = synchronizer.NewDriven(style, plan.Sync(cfg), timeout, t.order)
	}
	if cfg.Mode == config.Explore {
		name := cfg.Explorer.Name
		t.sync.Tell = func(e synchronizer.ExplorerStatus) error { return t.folder.WriteExplorer(name, e) }
	}
	return t, nil
}

// publisher says after which of the steps weights are published; nil where nobody will sample with them. samples is
// the trainer's source, if an explorer makes them.
func (t travel) publisher(cfg *config.Config, followed, staged bool, steps int,
	samples synchronizer.Samples) trainer.Publisher {
	switch {
	case cfg.Mode.Explores() || cfg.Mode.Serves() || followed:
	case staged:
		return synchronizer.AtTheEnd{Steps: steps} // the next stage may sample with them
	default:
		return nil
	}
	if cfg.Synchronizer.SyncStyle != config.ExplorerDriven {
		return synchronizer.OnSchedule{Schedule: t.sync.Schedule, Steps: steps}
	}
	return synchronizer.OnRequest{Sync: t.sync, Folder: t.folder, Order: t.order, Samples: samples,
		Batch: cfg.Buffer.TrainBatchSize, Steps: steps}
}
