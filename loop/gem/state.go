package gem

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// state is what the last committed step left: gem_state.json.
type state struct {
	Step      int      `json:"steps_done"`
	NextSeqID int64    `json:"next_seq_id"`
	ModelID   string   `json:"model_id"`
	Saved     saved    `json:"saved"`              // the last saved state
	Saving    int64    `json:"saving,omitempty"`   // SeqID of a save that was begun behind the last step
	Samplers  []string `json:"samplers,omitempty"` // published and not deleted, in order
}

// saved is a state that training can go on from.
type saved struct {
	Step int    `json:"steps_done"` // updates in it
	Path string `json:"path"`
}

const stateFile = "gem_state.json"

// Begun reports whether a folder holds a run.
func Begun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stateFile))
	return err == nil
}

func readState(dir string) (state, error) {
	s := state{NextSeqID: 1}
	path := filepath.Join(dir, stateFile)
	err := disk.ReadJSON(path, &s)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil && (s.Step < 0 || s.NextSeqID < 1 || s.Saved.Step > s.Step) {
		err = fmt.Errorf("step %d, saved step %d and next request %d make no sense", s.Step, s.Saved.Step, s.NextSeqID)
	}
	if err != nil {
		return s, fmt.Errorf("gem: read %s: %w; restore it from a backup, or begin a new run", path, err)
	}
	return s, nil
}

// commitState makes next the state, durably.
func (t *Trainer) commitState(next state) error {
	if err := disk.WriteJSON(t.FS, filepath.Join(t.Dir, stateFile), next); err != nil {
		return err
	}
	t.state = next
	return nil
}

// open finds the place where the run stopped and opens what it writes to.
func (t *Trainer) open(ctx context.Context) error {
	s, err := readState(t.Dir)
	if err != nil {
		return err
	}
	caps, err := t.Service.Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("gem: %w", err)
	}
	t.exact, t.state = caps.ExactLogprobs, s
	for _, m := range caps.Models {
		if m.Name == t.Create.BaseModel {
			t.player.Context = m.ContextLength
		}
	}
	if err := t.openModel(ctx); err != nil {
		return fmt.Errorf("gem: %w", err)
	}
	if !Begun(t.Dir) {
		if err := t.commitState(t.state); err != nil {
			return err
		}
	}
	if t.store, err = buffer.OpenStore(filepath.Join(t.Dir, "episodes"), t.FS); err != nil {
		return err
	}
	record := t.Record
	record.Dir, record.Keep, record.Now, record.FS, record.Roles = t.LogDir, t.lastLine(), t.Now, t.FS, []string{role}
	if t.monitor, err = monitor.Open(record); err != nil {
		return errors.Join(err, t.store.Close())
	}
	if err := t.store.Drop(t.firstNeeded() - 1); err != nil {
		return errors.Join(err, t.store.Close(), t.monitor.Close())
	}
	return nil
}

// lastLine is the last step whose line in metrics.jsonl stands. Behind the last step of a finished run is that of the
// evaluation at the end.
func (t *Trainer) lastLine() int {
	if t.state.Step >= t.Config.MaxSteps && t.finished() {
		return t.state.Step
	}
	return t.state.Step - 1
}

// finished reports whether what the run has done is saved.
func (t *Trainer) finished() bool {
	return t.state.Saved.Step == t.state.Step && t.state.Saving == 0
}

// firstNeeded is the first step whose episodes may be trained (again).
func (t *Trainer) firstNeeded() int {
	if t.Durable {
		return t.state.Step
	}
	return min(t.state.Step, t.state.Saved.Step)
}

// openModel connects to the model of this run, making it at the first start. A service that does not keep models goes
// on from the last saved state.
func (t *Trainer) openModel(ctx context.Context) error {
	if !t.Durable && t.state.ModelID != "" {
		return t.reopenSaved(ctx)
	}
	client, err := t.Service.CreateModel(ctx, t.Create)
	if err != nil {
		return err
	}
	info, err := client.Info(ctx)
	switch {
	case err != nil:
		return err
	case t.state.ModelID != "" && info.ModelID != t.state.ModelID:
		return fmt.Errorf("the run trains model %s, but the service has %s under its name; begin a new run", t.state.ModelID, info.ModelID)
	case info.NextSeqID < t.state.NextSeqID:
		return fmt.Errorf("model %s has done %d requests, but the run has committed %d: the service lost some of it; begin a new run",
			info.ModelID, info.NextSeqID-1, t.state.NextSeqID-1)
	}
	t.client, t.state.ModelID = client, info.ModelID
	return nil
}

// reopenSaved goes back to the last saved state, or to the beginning if there is none. The steps behind it are trained
// again, on the episodes that are stored.
func (t *Trainer) reopenSaved(ctx context.Context) error {
	from := t.state.Saved
	var client tinker.TrainingClient
	var err error
	if from.Path == "" {
		client, err = t.Service.CreateModel(ctx, t.Create)
	} else {
		client, err = t.Service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: from.Path, Optimizer: true})
	}
	if err != nil {
		return err
	}
	info, err := client.Info(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "note: the service does not keep models; going on behind step %d\n", from.Step)
	t.client, t.behind = client, t.state.Step
	return t.commitState(state{Step: from.Step, NextSeqID: info.NextSeqID, ModelID: info.ModelID, Saved: from, Samplers: t.state.Samplers})
}
