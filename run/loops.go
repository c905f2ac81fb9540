package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// loops are the two halves of a run, each at the place where the job continues, and what lies between them.
type loops struct {
	explorer *explorer.Explorer // nil: this process samples nothing by itself
	exploring
	first    int                  // explore step to begin with
	trainer  *trainer.Trainer     // nil: it trains nothing
	events   *record.Trained      // what the trainer tells; nil with it
	steps    int                  // train steps in all; 0 when only the data's end tells
	exchange buffer.Exchange      // nil: a trainer learns from a data set
	table    *buffer.Table        // the exchange, if it is one
	samples  *buffer.Samples      // the trainer's source; nil: a data set
	state    trainer.State        // where the trainer continues
	lost     int                  // train steps that are done again, as the server lost the model
	report   *synchronizer.Report // nil: no explorer of another process follows the trainer
	monitor  *monitor.Monitor
	weights  synchronizer.Weights
	travel   travel
}

// buildLoops makes the loops of a configuration's mode.
func buildLoops(ctx context.Context, b *job) (*loops, error) {
	if err := b.prepareTasks(ctx); err != nil {
		return nil, err
	}
	l := &loops{weights: synchronizer.Weights{FS: b.fs, Dir: b.dir, Prefix: jobdir.Prefix(b.cfg), Service: b.service}}
	var err error
	if l.state, l.lost, err = resume(b); err != nil {
		return nil, err
	}
	if l.travel, err = openTravel(b.cfg, b.folder(), b.Now, b.opened); err != nil {
		return nil, err
	}
	if b.cfg.Mode == config.Train {
		l.report = synchronizer.NewReport(l.travel.folder, l.state.Step)
	}
	between := between{cfg: b.cfg, dir: b.folder(), id: b.identity, schema: b.method.Schema, now: b.Now,
		trainer: l.travel.sync, report: l.report, opened: b.opened}
	if l.exchange, l.table, err = openExchange(ctx, between, l.state.Position); err != nil {
		return nil, err
	}
	asking := record.Asking{Explores: b.cfg.Mode.Explores(), Serves: b.cfg.Mode.Serves(), Sync: l.travel.sync,
		Folder: l.travel.folder, To: l.exchange}
	if l.monitor, err = openMonitor(b, asking.ExploreStep(l.state), l.state.Step); err != nil {
		return nil, err
	}
	var kept *explorer.Kept
	if b.cfg.Mode.Explores() {
		if l.exploring, err = openTasksets(ctx, b); err != nil {
			return nil, err
		}
		if kept, err = openKept(b); err != nil {
			return nil, err
		}
		asking.Adaptive = b.tasks != nil && b.tasks.states != nil
		if l.first, err = firstStep(explorerState(b), b.tasks, asking.ExploreStep(l.state)); err != nil {
			return nil, err
		}
		if l.explorer, err = openExplorer(ctx, b, l, l.exploring, kept, between, l.first); err != nil {
			return nil, err
		}
	}
	l.steps = stepsOf(b.cfg, b.method, l.exploring.steps)
	b.explored, b.steps, b.travels = l.exploring.steps, l.steps, l.travel.sync.Schedule
	versions, err := l.recover(ctx, b, asking)
	if err != nil {
		return nil, err
	}
	if err := b.checkStaleness(); err != nil || !b.cfg.Mode.Trains() {
		return l, err
	}
	return l, l.openTrainer(ctx, b, versions, &record.Sampled{Table: l.table, Kept: kept, Asking: asking})
}

// resume is where the trainer continues: where it stopped, or on a service that keeps no models at the last state it saved; lost is how many
// steps lie between.
func resume(b *job) (state trainer.State, lost int, err error) {
	state, err = trainer.ReadState(b.dir, b.cfg.Trainer.Name)
	switch {
	case err != nil || b.durable() && !state.Foreign:
		return state, 0, err
	case state.Foreign && b.durable():
		return state, 0, fmt.Errorf("run: job %s was begun by Trinity-RFT on a Tinker service, which has its weights; "+
			"set model.tinker.base_url to that service, or use another name for a new job", b.dir)
	case state.Foreign:
		state, err = record.Foreign{Explorer: explorerState(b), Store: storePath(b.folder()), Explored: samplesOf(b.cfg),
			Trained: sampledOf(b.cfg, b.method), Sampled: b.method.Schema == "experience"}.Resume(state)
		return state, 0, err
	}
	return state.Back(), state.Step - state.Saved, nil
}

// explorerState is the path of the explorer's state.
func explorerState(b *job) string { return filepath.Join(b.dir, b.cfg.Explorer.Name+"_meta.json") }

// openMonitor opens the metrics. Its lines stand up to what is done: trained, or in a process that samples beside a trainer the steps
// before explore step next.
func openMonitor(b *job, next, trained int) (*monitor.Monitor, error) {
	d := b.folder()
	m, err := monitor.Open(monitor.Config{
		Dir: b.dir, Log: d.Metrics(), Type: b.cfg.Monitor.MonitorType, Args: b.cfg.Monitor.MonitorArgs,
		Keep: linesToKeep(b, d, next, trained), Now: b.Now, FS: b.fs,
		Project: b.cfg.Project, Group: b.cfg.Group, Name: b.cfg.Name, Roles: monitored(b.cfg.Mode), Settings: b.cfg.Settings(),
		Own: b.Plugins.Monitors, LookupEnv: b.LookupEnv, Warn: b.progress.Warn,
	})
	if err != nil {
		return nil, err
	}
	b.opened(m.Close)
	if b.cfg.Monitor.MonitorType == "wandb" {
		fmt.Fprintf(b.Out, "wandb    kept offline; send it with: wandb sync %s\n", d.File("monitor", "wandb", "*", "offline-run-*"))
	}
	return m, nil
}

// linesToKeep is up to which step the lines of metrics stand; -1 is none.
func linesToKeep(b *job, d jobdir.Dir, next, trained int) int {
	keep := trained
	switch {
	case b.cfg.Mode == config.Bench:
		return -1 // it evaluates all again
	case b.aside():
		keep = next - 1
	}
	if keep > 0 {
		return keep
	}
	if lines, err := monitor.ReadLog(d.File(d.Metrics())); err == nil && len(lines) > 0 && lines[0].Step == 0 {
		return 0 // the evaluation at the start stands
	}
	return -1
}

// monitored are the roles whose metrics are recorded.
func monitored(m config.Mode) (roles []string) {
	if m == config.Bench {
		return []string{jobdir.Benchmark}
	}
	if m != config.Train {
		roles = append(roles, "explorer")
	}
	if m.Trains() {
		roles = append(roles, "trainer")
	}
	return roles
}

// openKept opens what the explorer keeps until it is trained; nil in mode bench, which keeps nothing.
func openKept(b *job) (*explorer.Kept, error) {
	if b.cfg.Mode == config.Bench {
		return nil, nil
	}
	store, err := openStore(b.folder(), b.opened)
	if err != nil {
		return nil, err
	}
	return &explorer.Kept{FS: b.fs, Path: explorerState(b), Store: store, Tasks: b.tasks, Batch: b.cfg.Buffer.BatchSize}, nil
}
