package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/synchronizer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// buildRecords opens what the run writes its progress to: store, monitor, and the versions known so far.
func (b *job) buildRecords(ctx context.Context) error {
	if err := b.prepareTasks(ctx); err != nil {
		return err
	}
	state, err := b.readState()
	if err != nil {
		return err
	}
	keep := b.keepLines(state)
	if b.monitor, err = monitor.Open(monitor.Config{Dir: b.dir, Log: filepath.Base(b.metricsFile()), Type: b.cfg.Monitor.MonitorType, Args: b.cfg.Monitor.MonitorArgs, Keep: keep, Now: b.Now, FS: b.fs,
		Project: b.cfg.Project, Group: b.cfg.Group, Name: b.cfg.Name, Roles: b.roles(), Settings: b.cfg.Settings(), Own: b.Plugins.Monitors, LookupEnv: b.LookupEnv, Warn: b.progress.warn}); err != nil {
		return err
	}
	b.opened(b.monitor.Close)
	if b.cfg.Monitor.MonitorType == "wandb" {
		fmt.Fprintf(b.Out, "wandb    kept offline; send it with: wandb sync %s\n", filepath.Join(b.dir, "monitor", "wandb", "*", "offline-run-*"))
	}
	if b.cfg.Mode.Explores() && b.cfg.Mode != config.Bench {
		if b.store, err = buffer.OpenStore(filepath.Join(b.dir, "buffer", "explored"+b.suffix()), b.fs); err != nil {
			return err
		}
		b.opened(b.store.Close)
	}
	return b.buildSync()
}

// keepLines is up to which step the lines of metrics stand; -1 is none.
func (b *job) keepLines(state trainer.State) int {
	keep := state.Step
	switch {
	case b.cfg.Mode == config.Bench:
		return -1 // it evaluates all again
	case b.aside():
		keep = b.exploreStep(state) - 1
	}
	if keep > 0 {
		return keep
	}
	if lines, err := monitor.ReadLog(b.metricsFile()); err == nil && len(lines) > 0 && lines[0].Step == 0 {
		return 0 // the evaluation at the start stands
	}
	return -1
}

// aside reports whether the process samples beside a trainer in another one.
func (b *job) aside() bool { return b.cfg.Mode == config.Explore || b.cfg.Mode == config.Serve }

// sampledFrom reports whether somebody samples from what this process trains.
func (b *job) sampledFrom() bool {
	return b.cfg.Mode.Explores() || b.cfg.Mode.Serves() || b.followed()
}

// suffix tells apart what explorers in processes of their own write beside each other.
func (b *job) suffix() string {
	if b.aside() {
		return "-" + b.cfg.Explorer.Name
	}
	return ""
}

// metricsFile is metrics.jsonl, or what an explorer in a process of its own has instead: its lines are by explore step.
func (b *job) metricsFile() string {
	if b.cfg.Mode == config.Bench {
		return filepath.Join(b.dir, "metrics-"+benchmark+".jsonl")
	}
	return filepath.Join(b.dir, "metrics"+b.suffix()+".jsonl")
}

// buildSync makes the synchronizer of the style.
func (b *job) buildSync() (err error) {
	s := b.cfg.Synchronizer
	schedule, timeout := b.syncSchedule(), seconds(s.SyncTimeout)
	b.folder = synchronizer.Folder{FS: b.fs, Dir: b.dir}
	style := map[config.SyncStyle]synchronizer.Style{config.TrainerDriven: synchronizer.TrainerDriven, config.ExplorerDriven: synchronizer.ExplorerDriven}[s.SyncStyle]
	if style != synchronizer.Fixed {
		if b.order, err = synchronizer.OpenOrder(b.fs, filepath.Join(b.dir, "log", "order"+b.suffix()+".jsonl"), b.Now); err != nil {
			return err
		}
		b.opened(b.order.Close)
		b.sync = synchronizer.NewDriven(style, schedule, timeout, b.order)
	} else {
		b.sync = synchronizer.New(schedule, timeout)
	}
	if b.cfg.Mode == config.Explore {
		b.sync.Tell = func(e synchronizer.ExplorerStatus) error { return b.folder.WriteExplorer(b.cfg.Explorer.Name, e) }
	}
	return nil
}

// syncSchedule says which weights an explore step samples with.
func (b *job) syncSchedule() synchronizer.Schedule {
	s := b.cfg.Synchronizer
	return synchronizer.Schedule{Interval: max(1, s.SyncInterval), Offset: s.SyncOffset}
}

// roles are the loops whose metrics are recorded.
func (b *job) roles() []string {
	var list []string
	if b.cfg.Mode == config.Bench {
		return []string{benchmark}
	}
	if b.cfg.Mode != config.Train {
		list = append(list, "explorer")
	}
	if b.cfg.Mode.Trains() {
		list = append(list, "trainer")
	}
	return list
}

// readState is where the job goes on: where it stopped, or on a service that keeps no models at the last state it
// saved.
func (b *job) readState() (trainer.State, error) {
	state, err := trainer.ReadState(b.dir, b.cfg.Trainer.Name)
	if err == nil && state.Foreign {
		return b.upstreamState(state)
	}
	if err != nil || b.durable() {
		return state, err
	}
	b.lost = state.Step - state.Saved
	return state.Back(), nil
}
