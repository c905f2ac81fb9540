package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// State is the result of the last committed step: the content of <name>_meta.json. Its first key is upstream's.
type State struct {
	Step      int             `json:"latest_iteration"`
	Saved     int             `json:"latest_saved"` // the last step whose state was saved
	NextSeqID int64           `json:"next_seq_id"`
	Saving    int64           `json:"saving,omitempty"` // SeqID of a save of Step that was begun outside a step
	ModelID   string          `json:"model_id"`
	Position  buffer.Position `json:"sample_strategy_state"` // what has been trained

	SavedPosition buffer.Position `json:"saved_position,omitzero"` // what had been trained at step Saved

	// Foreign: the state is upstream's, which says nothing of what was trained; only read, never written.
	Foreign bool `json:"-"`

	Planned int `json:"planned_steps,omitempty"` // how many steps the run was to have; 0 is unknown

	Critic CriticState `json:"critic,omitzero"`

	KLCoefs      Coefs `json:"kl_coefs,omitzero"`       // for the next step
	SavedKLCoefs Coefs `json:"saved_kl_coefs,omitzero"` // after step Saved
}

// Back is where a run continues when the service has lost its model: after the last step whose state was saved.
func (s State) Back() State {
	return State{Step: s.Saved, Saved: s.Saved, NextSeqID: 1, Position: s.SavedPosition, SavedPosition: s.SavedPosition,
		Planned: s.Planned,
		KLCoefs: s.SavedKLCoefs, SavedKLCoefs: s.SavedKLCoefs}
}

func statePath(jobDir, name string) string { return filepath.Join(jobDir, name+"_meta.json") }

// ReadState reads the state of a job; a new job has the zero State with the first SeqID.
func ReadState(jobDir, name string) (State, error) {
	s := State{NextSeqID: 1}
	path := statePath(jobDir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = errors.Join(disk.Unseal(data), json.Unmarshal(data, &s))
	}
	var own struct {
		NextSeqID *int64 `json:"next_seq_id"`
	}
	if err == nil && s.Step > 0 && json.Unmarshal(data, &own) == nil && own.NextSeqID == nil {
		return foreign(jobDir, path)
	}
	if err == nil && (s.Step < 0 || s.NextSeqID < 1) {
		err = fmt.Errorf("step %d and next request %d make no sense", s.Step, s.NextSeqID)
	}
	if err != nil {
		return s, fmt.Errorf("trainer: read %s: %w; restore it from a backup, or begin in another job directory", path,
			err)
	}
	return s, nil
}

// foreign reads the state that Trinity-RFT left with its Tinker backend: what counts there is the last saved state,
// which the service keeps.
func foreign(jobDir, path string) (State, error) {
	step, err := os.ReadFile(filepath.Join(jobDir, "latest_checkpointed_iteration.txt"))
	n := 0
	if err == nil {
		n, err = strconv.Atoi(strings.TrimSpace(string(step)))
	}
	dir := filepath.Join(jobDir, "global_step_"+strconv.Itoa(n))
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "remote_checkpoint_path.txt"))
	}
	if err == nil {
		return State{Step: n, Saved: n, NextSeqID: 1, Foreign: true, Position: foreignPosition(path)}, nil
	}
	if found, gerr := disk.Glob(jobDir, "global_step_*/actor"); gerr == nil && len(found) > 0 {
		return State{}, fmt.Errorf("trainer: %s is of a run with Trinity-RFT's verl backend, whose checkpoints (%s) "+
			"are not read; begin in another job directory, with model.model_path naming its huggingface folder", path,
			found[0])
	}
	return State{}, fmt.Errorf("trainer: %s is not of this program, and there is no saved state to continue from: %w; "+
		"begin in another job directory", path, err)
}

// foreignPosition is how far Trinity-RFT had read data sets: of sft and dpo the one, of mix the expert's. Its queues
// start over.
func foreignPosition(path string) (p buffer.Position) {
	var meta struct {
		State struct {
			Index  int `json:"current_index"`
			Expert struct {
				Index int `json:"current_index"`
			} `json:"expert_buffer"`
		} `json:"sample_strategy_state"`
		Index int `json:"latest_exp_index"` // of older versions
	}
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &meta) == nil {
		p.Count, p.Expert = max(meta.State.Index, meta.Index), meta.State.Expert.Index
	}
	return p
}

func (t *Trainer) writeState() error {
	t.state.Planned = t.TotalSteps
	return t.Notes.Write(t.state)
}

// open connects to the model of this run, making it at the first start.
func (t *Trainer) open(ctx context.Context) error {
	caps, err := t.service.Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("trainer: %w", err)
	}
	t.exact, t.entropies, t.silent = caps.ExactLogprobs, caps.ExactEntropy, caps.SilentDatums
	t.Method.Objective.Entropy.Exact = caps.ExactEntropy
	if err := t.openOthers(ctx); err != nil {
		return fmt.Errorf("trainer: %w", err)
	}
	fresh := t.Durable || t.state.Step == 0
	if fresh {
		err = t.openModel(ctx)
	} else {
		err = t.reopenSaved(ctx)
	}
	if err == nil && t.Method.Needs().Values {
		err = t.openCritic(ctx, !fresh)
	}
	if err != nil {
		return fmt.Errorf("trainer: %w", err)
	}
	return nil
}

func (t *Trainer) openModel(ctx context.Context) error {
	client, err := t.createModel(ctx)
	if err != nil {
		return err
	}
	info, err := client.Info(ctx)
	if err != nil {
		return err
	}
	if t.state.ModelID != "" && info.ModelID != t.state.ModelID {
		return fmt.Errorf("the job trains model %s, but the service has %s under its name; begin in another job "+
			"directory", t.state.ModelID, info.ModelID)
	}
	if sent := sent(t.state.NextSeqID, t.state.Saving); info.NextSeqID < sent {
		return fmt.Errorf("model %s has done %d requests, but the job has committed %d: the service lost some of it; "+
			"remove the job directory to start over", info.ModelID, info.NextSeqID-1, sent-1)
	}
	t.client, t.state.ModelID = client, info.ModelID
	return nil
}

// sent is the number after the last request that was surely sent: a save is committed before it is, and asked for
// again.
func sent(next, saving int64) int64 {
	if saving != 0 {
		return saving
	}
	return next
}

// createModel makes the model, or finds the one that an earlier start made.
func (t *Trainer) createModel(ctx context.Context) (tinker.TrainingClient, error) {
	if t.From == "" {
		return t.service.CreateModel(ctx, t.Create)
	}
	return t.service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{SessionID: t.Create.SessionID,
		ModelSeqID: t.Create.ModelSeqID, Path: t.From})
}

// reopenSaved continues from the last saved state on a service that does not keep models. The state was turned Back to
// that step.
func (t *Trainer) reopenSaved(ctx context.Context) error {
	client, err := t.fromSaved(ctx, IntervalState)
	if err != nil {
		return err
	}
	info, err := client.Info(ctx)
	if err != nil {
		return err
	}
	t.client, t.state.ModelID, t.state.NextSeqID = client, info.ModelID, info.NextSeqID
	return nil
}

// fromSaved makes a model of the saved state of the last step.
func (t *Trainer) fromSaved(ctx context.Context, k Kind) (tinker.TrainingClient, error) {
	path, err := t.Notes.Path(k, t.state.Step)
	if err != nil {
		return nil, fmt.Errorf("no saved state of step %d to continue from: %w", t.state.Step, err)
	}
	return t.service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: path, Optimizer: true})
}
