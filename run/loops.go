package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
)

// loops are the two halves of a run, each at the place where the job continues, and what lies between them.
type loops struct {
	exploring exploring // zero: this process samples nothing by itself
	training  training  // zero: it trains nothing
	between   between
	travel    travel
	monitor   *monitor.Monitor
	weights   synchronizer.Weights
	resumed   resumed
}

// buildLoops makes the loops of a configuration's mode.
func buildLoops(ctx context.Context, b *job) (*loops, error) {
	if err := b.prepareTasks(ctx); err != nil {
		return nil, err
	}
	l := &loops{weights: synchronizer.Weights{FS: b.fs, Dir: b.dir, Prefix: jobdir.Prefix(b.cfg), Service: b.service}}
	var err error
	if l.resumed, err = resume(b); err != nil {
		return nil, err
	}
	if l.travel, err = openTravel(b.cfg, b.folder(), b.Now, b.opened); err != nil {
		return nil, err
	}
	o := exchangeOptions{cfg: b.cfg, dir: b.folder(), id: b.identity, schema: b.method.Schema, now: b.Now,
		travel: l.travel, trained: l.resumed.Step, opened: b.opened}
	if l.between, err = openBetween(ctx, o, l.resumed.Position); err != nil {
		return nil, err
	}
	asking := record.Asking{Explores: b.cfg.Mode.Explores(), Serves: b.cfg.Mode.Serves(), Sync: l.travel.sync,
		Folder: l.travel.folder, To: l.between.exchange}
	if l.monitor, err = openMonitor(b, asking.ExploreStep(l.resumed.State), l.resumed.Step); err != nil {
		return nil, err
	}
	if b.cfg.Mode.Explores() {
		raw, err := o.openRaw(ctx)
		if err != nil {
			return nil, err
		}
		if l.exploring, err = openExploring(ctx, b, sinks{l.travel, l.between.exchange, l.monitor, raw},
			asking.ExploreStep(l.resumed.State)); err != nil {
			return nil, err
		}
		asking.Adaptive = l.exploring.adaptive
	}
	steps := stepsOf(b.cfg, b.method, l.exploring.steps)
	versions, err := recoverVersions(ctx, b, l, asking, steps)
	if err != nil {
		return nil, err
	}
	if err := checkStaleness(b.cfg, b.method, l.exploring.steps); err != nil || !b.cfg.Mode.Trains() {
		return l, err
	}
	l.training, err = openTraining(ctx, b, l, versions, asking, steps)
	return l, err
}

// resumed is where a job continues.
type resumed struct {
	trainer.State
	lost int // train steps that are done again, as the server lost the model
}

// resume is where the trainer continues: where it stopped, or on a service that keeps no models at the last state it
// saved.
func resume(b *job) (resumed, error) {
	state, err := trainer.ReadState(b.dir, b.cfg.Trainer.Name)
	switch {
	case err != nil || b.durable() && !state.Foreign:
		return resumed{State: state}, err
	case state.Foreign && b.durable():
		return resumed{}, fmt.Errorf("run: job %s was begun by Trinity-RFT on a Tinker service, which has its "+
			"weights; "+
			"set model.tinker.base_url to that service, or use another name for a new job", b.dir)
	case state.Foreign:
		state, err = record.Foreign{Explorer: explorerState(b), Store: storePath(b.folder()),
			Explored: samplesOf(b.cfg),
			Trained:  sampledOf(b.cfg, b.method), Sampled: b.method.Schema == "experience"}.Resume(state)
		return resumed{State: state}, err
	}
	return resumed{state.Back(), state.Step - state.Saved}, nil
}

// explorerState is the path of the explorer's state.
func explorerState(b *job) string { return filepath.Join(b.dir, b.cfg.Explorer.Name+"_meta.json") }

// openMonitor opens the metrics. Its lines stand up to what is done: trained, or in a process that samples beside a
// trainer the steps before explore step next.
func openMonitor(b *job, next, trained int) (*monitor.Monitor, error) {
	d := b.folder()
	m, err := monitor.Open(monitor.Config{
		Dir: b.dir, Log: d.Metrics(), Type: b.cfg.Monitor.MonitorType, Args: b.cfg.Monitor.MonitorArgs,
		Keep: linesToKeep(b, d, next, trained), Now: b.Now, FS: b.fs,
		Project: b.cfg.Project, Group: b.cfg.Group, Name: b.cfg.Name, Roles: monitored(b.cfg.Mode),
		Settings: b.cfg.Settings(),
		Own:      b.Plugins.Monitors, LookupEnv: b.LookupEnv, Warn: b.progress.Warn,
	})
	if err != nil {
		return nil, err
	}
	b.opened(m.Close)
	if b.cfg.Monitor.MonitorType == "wandb" {
		fmt.Fprintf(b.Out, "wandb    kept offline; send it with: wandb sync %s\n", d.File("monitor", "wandb", "*",
			"offline-run-*"))
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
