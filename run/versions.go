package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// publishes says after which steps weights are published: every sync_interval steps, or when an explorer asks for them, and the last
// step's for the evaluation at the end. nil when there is no explorer.
func (b *job) publishes(ctx context.Context) func(int) bool {
	if !b.sampledFrom() {
		if b.stage != nil {
			return func(step int) bool { return step == b.steps } // the next stage may sample with them
		}
		return nil
	}
	if b.cfg.Synchronizer.SyncStyle != config.ExplorerDriven {
		return func(step int) bool { return b.sync.Publishes(step) || step == b.steps }
	}
	return func(step int) bool {
		if step == b.steps {
			return true
		}
		if published, ok := b.order.Decided(step); ok {
			return published // a step that is run again sends the same requests
		}
		wanted, err := b.wanted(ctx)
		b.failed = errors.Join(b.failed, err, b.order.Decide(step, wanted))
		return wanted
	}
}

// wanted reports whether an explorer waits for weights, or would wait in vain as the trainer is about to wait for it.
func (b *job) wanted(ctx context.Context) (bool, error) {
	if b.sync.Asks() {
		return true, nil
	}
	others, err := b.folder.Explorers()
	if err != nil {
		return false, err
	}
	for _, e := range others {
		if e.Asks {
			return true, nil
		}
	}
	return b.source.short(ctx, b.sampled(), b.method.SampleStrategy.MinVersion(b.trainer.Step()+2))
}

// needed is the oldest version that an explorer may still ask for.
func (b *job) needed(state trainer.State) (int, error) {
	if b.cfg.Mode.Explores() {
		step := b.exploreStep(state)
		if b.tasks != nil && b.tasks.states != nil { // after a kill the selectors learn again from there
			step = min(step, max(1, state.Back().Position.Step))
		}
		return b.sync.Needed(step), nil
	}
	if b.cfg.Mode.Serves() {
		return b.sync.Newest(), nil // open samplers keep their weights
	}
	others, err := b.folder.Explorers()
	if err != nil || len(others) == 0 {
		return 0, err
	}
	oldest := others[0].Version
	for _, e := range others {
		oldest = min(oldest, e.Version)
	}
	return oldest, nil
}

// knownVersions tells the synchronizer what the job has published, and deletes what a killed process meant to.
func (b *job) knownVersions(ctx context.Context, state trainer.State) error {
	b.sync.Publish(0, b.startSampler)
	if !b.cfg.Mode.Trains() || !b.sampledFrom() {
		return nil
	}
	if state.Foreign {
		err := b.knownUpstream(ctx, state)
		b.sync.Promise(b.republish...)
		return err
	}
	needed, err := b.needed(state)
	if err != nil {
		return err
	}
	if b.explorer != nil { // perhaps the selectors learn from before: what they know was written after the trainer's state
		needed = min(needed, b.sync.Needed(b.explorer.First))
	}
	notes, err := b.samplerNotes()
	if err != nil {
		return err
	}
	newest := 0 // a step that came after dropped samples may have sampled with it, however many steps before
	for _, n := range notes {
		if n.version <= state.Step {
			newest = max(newest, n.version)
		}
	}
	needed = min(needed, newest)
	for _, n := range notes {
		switch {
		case n.version > state.Step && b.durable(): // of the interrupted step, which publishes it again
		case n.version > state.Step || n.version < needed: // a model that is trained again publishes under another path
			if err := b.retire(ctx, n.path); err != nil {
				return err
			}
		default:
			if err := b.publishKnown(ctx, n, state.Step); err != nil {
				return err
			}
		}
	}
	return b.checkVersions(ctx, state)
}

// checkVersions refuses to go on when weights are gone that a step is to sample with and that no step will publish, unless they can be made
// again.
func (b *job) checkVersions(ctx context.Context, state trainer.State) error {
	b.sync.Promise(b.republish...)
	if b.explorer == nil || b.cfg.Synchronizer.SyncStyle != config.Fixed {
		return nil
	}
	for step := max(b.explorer.First, state.Position.Step); step <= b.explorer.Steps; step++ {
		version := b.sync.Version(step)
		if version > state.Step {
			break
		}
		if b.sync.Expected(version) {
			continue
		}
		if again, err := b.restoreVersion(ctx, version); err != nil || again {
			if err != nil {
				return err
			}
			continue
		}
		return fmt.Errorf("run: explore step %d samples with the weights of step %d, which job %s no longer has (its newest are of step %d), and no state was saved at that step "+
			"to make them of: a job that was finished by an older version kept the last weights alone, and one that was trained with a smaller sync_offset or sync_interval "+
			"kept no older ones; set synchronizer.sync_offset=0 and synchronizer.sync_interval=1 to go on with the newest, or use another name for a new job",
			step, version, b.dir, b.sync.Newest())
	}
	return nil
}

// samplerNote is what a job directory says of published weights.
type samplerNote struct {
	version int
	path    string
}

func (b *job) samplerNotes() ([]samplerNote, error) {
	files, err := filepath.Glob(filepath.Join(b.dir, "global_step_*", "remote_sampler_path.txt"))
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	var notes []samplerNote
	for _, file := range files {
		version, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "global_step_"))
		if err != nil {
			continue // not ours
		}
		path, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		notes = append(notes, samplerNote{version, strings.TrimSpace(string(path))})
	}
	return notes, nil
}

// retire deletes sampler weights that no step will ask for again, and their note in the job directory.
func (b *job) retire(ctx context.Context, path string) error {
	if err := b.service.DeleteCheckpoint(ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return fmt.Errorf("run: old sampler weights: %w", err)
	}
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	step := p.Name[strings.LastIndex(p.Name, "-")+1:]
	dir := filepath.Join(b.dir, "global_step_"+step)
	if err := b.fs.Remove(filepath.Join(dir, "remote_sampler_path.txt")); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
		return b.fs.Remove(dir)
	}
	return nil
}
