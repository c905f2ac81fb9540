package synchronizer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Versions are the weights that a job publishes: it tells the Synchronizer which there are, finds them again after a
// restart, and deletes those that nobody will ask for. Its methods are called one at a time.
type Versions struct {
	Weights
	Sync    *Synchronizer
	Start   string       // the path to sample version 0 from; empty: the base model
	Durable bool         // the service keeps models through a restart of this process
	Here    bool         // the explorer is in this process, so nobody else is sampling
	Over    bool         // all steps are trained
	Note    func(string) // tells a person something once
	Warn    func(string)

	republish []int          // what the trainer is to publish before it begins
	replaced  map[int]string // the paths that these had
}

// Republish are the versions that the trainer publishes before it begins, with the weights that it begins with.
func (v *Versions) Republish() []int { return v.republish }

// Begin makes version 0 known.
func (v *Versions) Begin() { v.Sync.Publish(0, v.Start) }

// Recover tells the Synchronizer what the job has published by train step step, and deletes what a killed process
// meant to. needed is the oldest version that an explorer may still ask for.
func (v *Versions) Recover(ctx context.Context, step, needed int) error {
	list, err := v.published()
	if err != nil {
		return err
	}
	newest := 0 // a step that came after dropped samples may have sampled with it, however many steps before
	for _, n := range list {
		if n.version <= step {
			newest = max(newest, n.version)
		}
	}
	needed = min(needed, newest)
	for _, n := range list {
		switch {
		case n.version > step && v.Durable: // of the interrupted step, which publishes it again
		case n.version > step || n.version < needed: // a model that is trained again publishes under another path
			if err := v.Retire(ctx, n.path); err != nil {
				return err
			}
		default:
			if err := v.publishKnown(ctx, n, step); err != nil {
				return err
			}
		}
	}
	v.Sync.Promise(v.republish...)
	return nil
}

// publishKnown tells the synchronizer of weights that an earlier process published. On a service that keeps no models
// the run continues with another model, of the state of step saved. Some such services sample from weights only while
// the model that saved them is loaded, so the new model publishes those of step saved again: they are the same. Older
// weights cannot be made again; if they can no longer be sampled from, the new model's take their place.
func (v *Versions) publishKnown(ctx context.Context, n published, saved int) error {
	if v.Durable || v.Over {
		v.Sync.Publish(n.version, n.path)
		return nil
	}
	if n.version == saved && v.Here { // else others may be sampling from it
		v.publishAgain(n)
		return nil
	}
	there, err := v.canSample(ctx, n.path)
	switch {
	case err != nil:
		return fmt.Errorf("synchronizer: weights of step %d: %w", n.version, err)
	case there:
		v.Sync.Publish(n.version, n.path)
		return nil
	case n.version < saved:
		v.Warn(fmt.Sprintf("the server no longer has the weights of step %d; those of step %d are sampled from in "+
			"their place", n.version, saved))
	}
	v.publishAgain(n)
	return nil
}

// publishAgain lets the trainer publish a version with the weights that it begins with.
func (v *Versions) publishAgain(n published) {
	if v.replaced == nil {
		v.replaced = map[int]string{}
	}
	v.republish = append(v.republish, n.version)
	v.replaced[n.version] = n.path
}

// RecoverForeign tells the Synchronizer which of the weights that Trinity-RFT published are there: those it published
// last, if they are of step, whose state is saved. It deletes the ones before, but not what it noted of them, and
// when it was stopped between two saves its last are of steps that are trained again. What explore steps ask for of
// those, from needed on, the trainer publishes again with the state's weights.
func (v *Versions) RecoverForeign(ctx context.Context, step, needed int) error {
	latest, err := os.ReadFile(filepath.Join(v.Dir, "latest_state_dict_iteration.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("synchronizer: %w", err)
	}
	list, err := v.published()
	if err != nil {
		return err
	}
	there := false
	for _, n := range list {
		if n.version == step && strings.TrimSpace(string(latest)) == strconv.Itoa(n.version) {
			v.Sync.Publish(n.version, n.path)
			there = true
			continue
		}
		if err := v.Retire(ctx, n.path); err != nil {
			return err
		}
	}
	for version := max(1, needed); version < step; version++ {
		if v.Sync.Publishes(version) {
			v.republish = append(v.republish, version)
		}
	}
	if !there {
		v.republish = append(v.republish, step)
	}
	v.Sync.Promise(v.republish...)
	return nil
}

// Check refuses to continue when weights are gone that one of the explore steps first to last is to sample with and
// that no train step after trained will publish, unless they can be made again.
func (v *Versions) Check(ctx context.Context, first, last, trained int) error {
	for step := first; step <= last; step++ {
		version, known := v.Sync.Ruled(step)
		if !known || version > trained {
			break
		}
		if v.Sync.Expected(version) {
			continue
		}
		path, ok, err := v.makeAgain(ctx, version)
		if err != nil {
			return err
		}
		if !ok {
			return v.gone(step, version)
		}
		v.Sync.Publish(version, path)
		v.Note(fmt.Sprintf("the sampler weights of step %d were deleted and are made again from the state that "+
			"was saved there", version))
	}
	return nil
}

func (v *Versions) gone(step, version int) error {
	return fmt.Errorf("synchronizer: explore step %d samples with the weights of step %d, which job %s no longer has "+
		"(its newest are of step %d), and no state was saved at that step to make them of: a job that was finished "+
		"by an older version kept the last weights alone, and one that was trained with a smaller sync_offset or "+
		"sync_interval kept no older ones; set synchronizer.sync_offset=0 and synchronizer.sync_interval=1 to "+
		"continue with the newest, or use another name for a new job", step, version, v.Dir, v.Sync.Newest())
}

// Published makes a version known that the trainer has published, and deletes the weights that it replaces.
func (v *Versions) Published(ctx context.Context, version int, path string) error {
	v.Sync.Publish(version, path)
	old := v.replaced[version]
	if old == "" || old == path {
		return nil
	}
	delete(v.replaced, version)
	if err := v.Service.DeleteCheckpoint(ctx, old); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return fmt.Errorf("synchronizer: sampler weights that were published again: %w", err)
	}
	return nil
}

// RetireOld deletes the versions below keep, but for those that are spared.
func (v *Versions) RetireOld(ctx context.Context, keep int, spared Range) error {
	for _, path := range v.Sync.Retire(min(keep, v.Sync.Newest()), spared.has) {
		if path == v.Start {
			continue // no version that the run made
		}
		if err := v.Retire(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// Range is the versions from First on that are below End.
type Range struct{ First, End int }

func (r Range) has(version int) bool { return r.First <= version && version < r.End }
