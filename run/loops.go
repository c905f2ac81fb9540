package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/loop/record"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/monitor/sink"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/data"
	"github.com/seed-d9ad8ee0/trinity/run/internal/inspect"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/plan"
	"github.com/seed-d9ad8ee0/trinity/run/internal/prepare"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// parts is what the loops of a run are built from.
type parts struct {
	setting
	method  *algorithm.Method
	models  models
	say     teller
	tools   env.Toolbox            // for environments
	offers  *proxy.Offers          // to programs that carry rollouts out; nil: there are none
	listens bool                   // offers are served at the address of the configuration
	url     func() (string, error) // where they are served to plug-ins and programs that the run starts; nil: nowhere
	// what carries rollouts out by programs that it starts
	carriers map[string]workflow.Carrier
}

// teller is how a run speaks to a person.
type teller struct {
	progress *console.Progress
	notes    *site.Notes
}

// data opens the run's data.
func (p parts) data() data.Opener {
	return data.Opener{Site: p.site, Config: p.cfg, Method: p.method, Model: p.models.base, External: p.models.external,
		URL: p.url, Judge: p.models.judge, Context: p.models.context, Date: p.id.Date, Note: p.say.notes.Add,
		Warn: p.say.progress.Warn, Opened: p.opened, Tools: p.tools, Rollouts: p.rollouts(),
		Carriers: p.carriers}
}

// loops are the two halves of a run, each at the place where the job continues, and what lies between them.
type loops struct {
	parts
	seen      *inspect.Inspection
	exploring exploring // zero: this process samples nothing by itself
	training  training  // zero: it trains nothing
	between   between
	travel    travel
	monitor   *monitor.Monitor
	weights   synchronizer.Weights
	resumed   resumed
}

// buildLoops makes the loops of a configuration's mode.
func buildLoops(ctx context.Context, p parts, seen *inspect.Inspection) (*loops, error) {
	if err := p.openOffers(); err != nil {
		return nil, err
	}
	p.openCarriers(nil)
	p.site.Busy.With("opening the data")
	if err := prepare.Of(p.cfg, p.method.Schema, p.site).Run(ctx); err != nil {
		return nil, err
	}
	l := &loops{parts: p, seen: seen, weights: synchronizer.Weights{FS: p.site.FS, Dir: p.folder.Path,
		Prefix: jobdir.Prefix(p.cfg), Service: p.models.service.API}}
	var err error
	if l.resumed, err = resume(p); err != nil {
		return nil, err
	}
	if l.travel, err = openTravel(p.cfg, p.folder, p.site.Now, p.opened); err != nil {
		return nil, err
	}
	o := exchangeOptions{cfg: p.cfg, dir: p.folder, id: p.id, schema: p.method.Schema, now: p.site.Now,
		travel: l.travel, trained: l.resumed.Step, opened: p.opened}
	if l.between, err = openBetween(ctx, o, l.resumed.Position); err != nil {
		return nil, err
	}
	asking := record.Asking{Explores: p.cfg.Mode.Explores(), Serves: p.cfg.Mode.Serves(), Sync: l.travel.sync,
		Folder: l.travel.folder, To: l.between.exchange}
	if l.monitor, err = openMonitor(p, asking.ExploreStep(l.resumed.State), l.resumed.Step); err != nil {
		return nil, err
	}
	if p.cfg.Mode.Explores() {
		raw, err := o.openRaw(ctx)
		if err != nil {
			return nil, err
		}
		to := sinks{l.travel, l.between.exchange, l.monitor, raw, l.resumed.State}
		if l.exploring, err = openExploring(ctx, p, to, asking.ExploreStep(l.resumed.State)); err != nil {
			return nil, err
		}
		asking.Adaptive = l.exploring.adaptive
	}
	steps := plan.Steps(p.cfg, p.method, l.exploring.steps)
	versions, err := recoverVersions(ctx, p, l, asking, steps)
	if err != nil {
		return nil, err
	}
	if err := plan.CheckStaleness(p.cfg, p.method, l.exploring.steps); err != nil || !p.cfg.Mode.Trains() {
		return l, err
	}
	l.training, err = openTraining(ctx, p, l, versions, asking, steps)
	return l, err
}

// resumed is where a job continues.
type resumed struct {
	trainer.State
	lost int // train steps that are done again, as the server lost the model
}

// resume is where the trainer continues: where it stopped, or on a service that keeps no models at the last state it
// saved.
func resume(p parts) (resumed, error) {
	state, err := trainer.ReadState(p.folder.Path, p.cfg.Trainer.Name)
	switch {
	case err != nil || p.models.service.Durable && !state.Foreign:
		return resumed{State: state}, err
	case state.Foreign && p.models.service.Durable:
		return resumed{}, fmt.Errorf("run: job %s was begun by Trinity-RFT on a Tinker service, which has its "+
			"weights; set model.tinker.base_url to that service, or use another name for a new job", p.folder.Path)
	case state.Foreign:
		state, err = record.Foreign{Explorer: explorerState(p), Store: storePath(p.folder),
			Explored: plan.ExploreSamples(p.cfg),
			Trained:  plan.TrainSamples(p.cfg, p.method), Sampled: p.method.Schema == "experience"}.Resume(state)
		return resumed{State: state}, err
	}
	return resumed{state.Back(), state.Step - state.Saved}, nil
}

// explorerState is the path of the explorer's state.
func explorerState(p parts) string {
	return filepath.Join(p.folder.Path, p.cfg.Explorer.Name+"_meta.json")
}

// openMonitor opens the metrics. Its lines stand up to what is done: trained, or in a process that samples beside a
// trainer the steps before explore step next.
func openMonitor(p parts, next, trained int) (*monitor.Monitor, error) {
	d := p.folder
	open, err := sink.Of(p.cfg.Monitor.MonitorType, p.site.Own.Monitors)
	if err != nil {
		return nil, err
	}
	m, err := monitor.OpenOn(p.site.FS, monitor.Config{
		Dir: p.folder.Path, Log: d.Metrics(), Open: open, Args: p.cfg.Monitor.MonitorArgs,
		Keep: linesToKeep(p, d, next, trained), Now: p.site.Now,
		Project: p.cfg.Project, Group: p.cfg.Group, Name: p.cfg.Name, Roles: monitored(p.cfg.Mode),
		Settings:  p.cfg.Settings(),
		LookupEnv: p.site.LookupEnv, Warn: p.say.progress.Warn,
	})
	if err != nil {
		return nil, err
	}
	p.opened(m.Close)
	for _, note := range sink.Idle(p.cfg.Monitor.MonitorType, p.cfg.Monitor.MonitorArgs) {
		p.say.notes.Add(note)
	}
	fmt.Fprint(p.site.Out, sink.Hint(p.cfg.Monitor.MonitorType, p.cfg.Monitor.MonitorArgs, d.Path))
	return m, nil
}

// linesToKeep is up to which step the lines of metrics stand; -1 is none.
func linesToKeep(p parts, d jobdir.Dir, next, trained int) int {
	keep := trained
	switch {
	case p.cfg.Mode == config.Bench:
		return -1 // it evaluates all again
	case p.aside():
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
