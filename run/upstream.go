package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// upstreamState is where a job goes on that Trinity-RFT began with its Tinker backend: the trainer behind its last saved state, the explorer
// behind the last step that explorer_meta.json says is explored, but not ahead of what the trainer can have trained: what its queue had left
// is gone, so those steps are explored again.
func (b *job) upstreamState(state trainer.State) (trainer.State, error) {
	if b.durable() {
		return state, fmt.Errorf("run: job %s was begun by Trinity-RFT on a Tinker service, which has its weights; set model.tinker.base_url to that service, or use another name for a new job", b.dir)
	}
	data, err := os.ReadFile(b.statePath())
	var s explorerState
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return state, fmt.Errorf("run: %s: %w", b.statePath(), err)
	}
	perStep := b.cfg.Buffer.BatchSize * b.cfg.Algorithm.RepeatTimes
	trained := state.Step * b.sampled() / max(1, perStep)
	if b.method.Schema == "experience" {
		state.Position.Step, state.Position.Count = min(s.Step, trained)+1, 0
	}
	state.SavedPosition = state.Position
	store, err := buffer.OpenStore(filepath.Join(b.dir, "buffer", "explored"+b.suffix()), nil)
	if err != nil {
		return state, err
	}
	defer store.Close()
	if steps := store.Steps(); len(steps) > 0 && steps[0] < state.Position.Step {
		return state, errors.New("run: groups of explore step " + strconv.Itoa(steps[0]) + " are stored, which upstream's state says is trained; use another name for a new job")
	}
	return state, nil
}

// knownUpstream tells the synchronizer which of the weights that Trinity-RFT published are there: those it published last, if they are the
// saved state's. It deletes the ones before, but not what it noted of them, and when it was stopped between two saves its last are of steps
// that are trained again. What explore steps ask for of those, the trainer publishes anew, all with the state's weights.
func (b *job) knownUpstream(ctx context.Context, state trainer.State) error {
	latest, err := os.ReadFile(filepath.Join(b.dir, "latest_state_dict_iteration.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("run: %w", err)
	}
	notes, err := b.samplerNotes()
	if err != nil {
		return err
	}
	there := false
	for _, n := range notes {
		if n.version == state.Step && strings.TrimSpace(string(latest)) == strconv.Itoa(n.version) {
			b.sync.Publish(n.version, n.path)
			there = true
			continue
		}
		if err := b.retire(ctx, n.path); err != nil {
			return err
		}
	}
	needed, err := b.needed(state)
	if err != nil {
		return err
	}
	for version := max(1, needed); version < state.Step; version++ {
		if b.sync.Publishes(version) {
			b.republish = append(b.republish, version)
		}
	}
	if !there {
		b.republish = append(b.republish, state.Step)
	}
	return nil
}
