package record

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/loop/explorer"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
)

// Foreign is a job that Trinity-RFT began with its Tinker backend.
type Foreign struct {
	Explorer string // the path of its explorer's state
	Store    string // the folder where this program stores groups
	Explored int    // samples of an explore step
	Trained  int    // of these, in a train step
	Sampled  bool   // it trains on samples, not on a data set
}

// Resume is where the job continues: the trainer after its last saved state, the explorer after the last step that
// explorer_meta.json says is explored, but not ahead of what the trainer can have trained: what its queue had left is
// gone, so those steps are explored again.
func (f Foreign) Resume(state trainer.State) (trainer.State, error) {
	s, err := f.explored()
	if err != nil {
		return state, err
	}
	if f.Sampled {
		trained := state.Step * f.Trained / max(1, f.Explored)
		state.Position.Step, state.Position.Count = min(s.Step, trained)+1, 0
	}
	state.SavedPosition = state.Position
	store, err := buffer.OpenStore(f.Store, nil)
	if err != nil {
		return state, err
	}
	defer store.Close()
	if steps := store.Steps(); len(steps) > 0 && steps[0] < state.Position.Step {
		return state, errors.New("run: groups of explore step " + strconv.Itoa(steps[0]) +
			" are stored, which upstream's state says is trained; use another name for a new job")
	}
	return state, nil
}

// explored reads upstream's own file, which has no checksum.
func (f Foreign) explored() (s explorer.State, err error) {
	err = disk.ReadJSON(f.Explorer, &s)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("run: %s: %w", f.Explorer, err)
	}
	return s, nil
}
