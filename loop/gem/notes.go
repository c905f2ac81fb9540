package gem

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/trainer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// stateFile is the file with what the last committed step left.
const stateFile = "gem_state.json"

// state is the content of stateFile.
type state struct {
	Step      int      `json:"steps_done"`
	NextSeqID int64    `json:"next_seq_id"`
	ModelID   string   `json:"model_id"`
	Saved     saved    `json:"saved"`              // the last saved state
	Saving    int64    `json:"saving,omitempty"`   // SeqID of a save that was begun after the last step
	Samplers  []string `json:"samplers,omitempty"` // published and not deleted, in order
}

// saved is a state that training can continue from.
type saved struct {
	Step int    `json:"steps_done"` // updates in it
	Path string `json:"path"`
}

// Begun reports whether a folder holds a run.
func Begun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stateFile))
	return err == nil
}

// notes keep a run's state in gem_state.json and its checkpoints in checkpoints.jsonl. They implement trainer.Notes.
type notes struct {
	fs    disk.FS
	dir   string
	state state      // as it will be written next
	final Checkpoint // as far as it is saved
}

// openNotes reads the notes of a run. Those of a new run have the first SeqID.
func openNotes(fs disk.FS, dir string) (*notes, trainer.State, error) {
	n := &notes{fs: fs, dir: dir, state: state{NextSeqID: 1}}
	s, path := &n.state, filepath.Join(dir, stateFile)
	err := disk.ReadJSON(path, s)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err == nil && (s.Step < 0 || s.NextSeqID < 1 || s.Saved.Step > s.Step) {
		err = fmt.Errorf("step %d, saved step %d and next request %d make no sense", s.Step, s.Saved.Step, s.NextSeqID)
	}
	if err != nil {
		return nil, trainer.State{}, fmt.Errorf("gem: read %s: %w; restore it from a backup, or begin a new run", path,
			err)
	}
	return n, trainer.State{Step: s.Step, Saved: s.Saved.Step, NextSeqID: s.NextSeqID, Saving: s.Saving,
		ModelID: s.ModelID}, nil
}

// Write implements trainer.Notes.
func (n *notes) Write(s trainer.State) error {
	n.state.Step, n.state.NextSeqID, n.state.ModelID, n.state.Saving = s.Step, s.NextSeqID, s.ModelID, s.Saving
	return n.write()
}

func (n *notes) write() error { return disk.WriteJSON(n.fs, filepath.Join(n.dir, stateFile), n.state) }

// Request implements trainer.Notes. The final checkpoint has GEM's name, the number of the last step. Where the state
// that the step began with has that name already, "-end" is appended; GEM would overwrite it.
func (n *notes) Request(k trainer.Kind, step int) tinker.SaveRequest {
	name := checkpointName(step)
	switch k {
	case trainer.FinalState:
		name = checkpointName(step - 1)
		if n.state.Saved.Path != "" && n.state.Saved.Step == step-1 {
			name += "-end"
		}
		n.final = Checkpoint{Name: name, PolicyStep: step - 1, Updates: step}
	case trainer.FinalSampler:
		name = n.final.Name + "-sampler"
	}
	return tinker.SaveRequest{Name: name, Overwrite: true}
}

// Note implements trainer.Notes.
func (n *notes) Note(k trainer.Kind, step int, path string) error {
	switch k {
	case trainer.IntervalState:
		n.state.Saved = saved{step, path}
		return n.add(Checkpoint{Name: checkpointName(step), PolicyStep: step, StatePath: path, Updates: step})
	case trainer.FinalState:
		n.final.StatePath = path
	case trainer.FinalSampler:
		n.final.SamplerPath, n.state.Saved = path, saved{step, n.final.StatePath}
		return n.add(n.final)
	default:
		n.state.Samplers = append(slices.Clip(n.state.Samplers), path)
	}
	return nil
}

// Path implements trainer.Notes.
func (n *notes) Path(k trainer.Kind, step int) (string, error) {
	if k != trainer.IntervalState || n.state.Saved.Step != step || n.state.Saved.Path == "" {
		return "", fmt.Errorf("gem: %s does not name it", filepath.Join(n.dir, stateFile))
	}
	return n.state.Saved.Path, nil
}
