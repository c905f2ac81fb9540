package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/sink"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/prepare"
)

// loops are the two halves of a job, each at the place where the job continues, and what connects them.
type loops struct {
	*job.Job
	inspected *inspect.Inspection
	rollouts  *proxy.Offers // to programs that carry rollouts out; nil: there are none
	served    bool          // at the address of the configuration

	weights synchronizer.Weights       // those that are published
	sync    *synchronizer.Synchronizer // decides which of them an explore step samples with
	shared  synchronizer.Folder        // tells loops of other processes
	order   *synchronizer.Order        // nil if the order of events decides nothing

	feed     *record.Feed         // nil if nobody counts what the explorer hands on
	exchange buffer.Exchange      // from explorer to trainer; nil: a trainer learns from a data set
	table    *buffer.Table        // the exchange, if it is one
	report   *synchronizer.Report // nil: no explorer of another process follows the trainer

	monitor *monitor.Monitor
	resumed resumed

	exploring exploring // zero: this process explores nothing
	training  training  // zero: it trains nothing
}

// openLoops makes the loops of a job's mode.
func openLoops(ctx context.Context, j *job.Job, inspected *inspect.Inspection) (*loops, error) {
	l := &loops{Job: j, inspected: inspected, weights: synchronizer.Weights{FS: j.FS, Dir: j.Dir.Path,
		Prefix: jobdir.Prefix(j.Config), Service: j.API}}
	var err error
	if l.rollouts, l.served, err = openRollouts(j); err != nil {
		return nil, err
	}
	j.Busy.With("opening the data")
	if err := prepare.Of(j).Run(ctx); err != nil {
		return nil, err
	}
	if l.resumed, err = resume(j); err != nil {
		return nil, err
	}
	if err := l.openSync(); err != nil {
		return nil, err
	}
	if err := l.openExchange(ctx); err != nil {
		return nil, err
	}
	if l.exchange != nil && j.Config.Mode.Explores() && j.Config.Synchronizer.SyncStyle == config.FullyAsync {
		l.feed, err = record.NewFeed(l.order, l.exchange, l.resumed.State, plan.TrainSamples(j.Config, j.Method),
			j.Method.SampleStrategy.MinVersion)
		if err != nil {
			return nil, err
		}
	}
	asking := record.Asking{Explores: j.Config.Mode.Explores(), Serves: j.Config.Mode.Serves(), Sync: l.sync,
		Folder: l.shared, To: l.exchange}
	next := asking.ExploreStep(l.resumed.State)
	if l.monitor, err = openMonitor(j, next, l.resumed.Step); err != nil {
		return nil, err
	}
	if j.Config.Mode.Explores() {
		if l.exploring, err = l.openExploring(ctx, next); err != nil {
			return nil, err
		}
		asking.Adaptive = l.exploring.adaptive
	}
	planned := plan.Steps(j.Config, j.Method, l.exploring.steps)
	versions, err := l.recoverVersions(ctx, asking, planned)
	if err != nil {
		return nil, err
	}
	if note := plan.Stale(j.Config, j.Method, l.exploring.steps); note != "" {
		j.Notes.Add(note)
	}
	if err := plan.CheckStaleness(j.Config, j.Method, l.exploring.steps); err != nil || !j.Config.Mode.Trains() {
		return l, err
	}
	l.training, err = l.openTraining(ctx, versions, asking, planned)
	return l, err
}

// resumed is where a job continues.
type resumed struct {
	trainer.State
	lost int // train steps that are done again, as the server lost the model
}

// resume is where the trainer continues: where it stopped, or on a service that keeps no models at the last state it
// saved.
func resume(j *job.Job) (resumed, error) {
	state, err := trainer.ReadState(j.Dir.Path, j.Config.Trainer.Name)
	switch {
	case err != nil || j.Durable && !state.Foreign:
		return resumed{State: state}, err
	case state.Foreign && j.Durable:
		return resumed{}, fmt.Errorf("run: job %s was begun by Trinity-RFT on a Tinker service, which has its "+
			"weights; set model.tinker.base_url to that service, or use another name for a new job", j.Dir.Path)
	case state.Foreign:
		state, err = record.Foreign{Explorer: explorerState(j), Store: storePath(j.Dir),
			Explored: plan.ExploreSamples(j.Config),
			Trained:  plan.TrainSamples(j.Config, j.Method), Sampled: j.Method.Schema == "experience"}.Resume(state)
		return resumed{State: state}, err
	}
	return resumed{state.Back(), state.Step - state.Saved}, nil
}

// explorerState is the path of the explorer's state.
func explorerState(j *job.Job) string { return j.Dir.File(j.Config.Explorer.Name + "_meta.json") }

// storePath is where groups are kept until they are trained.
func storePath(d jobdir.Dir) string { return d.File("buffer", "explored"+d.Suffix()) }

// openMonitor opens the metrics. It keeps the lines up to what is done: trained, or in a process that samples beside a
// trainer the steps before explore step next.
func openMonitor(j *job.Job, next, trained int) (*monitor.Monitor, error) {
	c := j.Config
	open, err := sink.Of(c.Monitor.MonitorType, j.Plugins.Monitors)
	if err != nil {
		return nil, err
	}
	m, err := monitor.OpenOn(j.FS, monitor.Config{
		Dir: j.Dir.Path, Log: j.Dir.Metrics(), Open: open, Args: c.Monitor.MonitorArgs,
		Keep: linesToKeep(j, next, trained), Now: j.Now, Project: c.Project, Group: c.Group, Name: c.Name,
		Roles: monitored(c.Mode), Settings: c.Settings(), LookupEnv: j.LookupEnv, Warn: j.Progress.Warn,
	})
	if err != nil {
		return nil, err
	}
	j.Opened(m.Close)
	for _, a := range sink.Idle(c.Monitor.MonitorType, c.Monitor.MonitorArgs) {
		j.NoteUnread("monitor.monitor_args."+a.Name, a.Why)
	}
	fmt.Fprint(j.Out, sink.Hint(c.Monitor.MonitorType, c.Monitor.MonitorArgs, j.Dir.Path))
	return m, nil
}

// linesToKeep is the last step whose line of metrics is kept; -1 is none.
func linesToKeep(j *job.Job, next, trained int) int {
	keep := trained
	switch {
	case j.Config.Mode == config.Bench:
		return -1 // it evaluates all again
	case j.Beside():
		keep = next - 1
	}
	if keep > 0 {
		return keep
	}
	if lines, err := monitor.ReadLog(j.Dir.File(j.Dir.Metrics())); err == nil && len(lines) > 0 && lines[0].Step == 0 {
		return 0 // the evaluation at the start is kept
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
