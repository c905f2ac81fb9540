package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/buffer"
	"github.com/seed-d9ad8ee0/trinity/trainer"
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
	state.Position = trainer.Position{Step: min(s.Step, trained) + 1}
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
