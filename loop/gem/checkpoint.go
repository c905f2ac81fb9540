package gem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Checkpoint is a line of checkpoints.jsonl. PolicyStep is the step the seed notes; Updates says how many updates the weights
// have had, which for the last checkpoint is one more.
type Checkpoint struct {
	Name        string `json:"name"`
	PolicyStep  int    `json:"policy_iteration_step"`
	StatePath   string `json:"state_path,omitempty"`
	SamplerPath string `json:"sampler_path,omitempty"`
	Updates     int    `json:"updates"`
}

const checkpointsFile = "checkpoints.jsonl"

func checkpointName(step int) string { return fmt.Sprintf("%06d", step) }

// ReadCheckpoints reads a run's checkpoints.jsonl; a run without one has none.
func ReadCheckpoints(dir string) ([]Checkpoint, error) {
	path := filepath.Join(dir, checkpointsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("gem: %w", err)
	}
	var list []Checkpoint
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var c Checkpoint
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("gem: %s: line %d: %w", path, i+1, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// note adds a line, in the place of one with its name.
func (t *Trainer) note(c Checkpoint) error {
	list, err := ReadCheckpoints(t.Dir)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, old := range list {
		if old.Name == c.Name {
			continue
		}
		if err := enc.Encode(old); err != nil {
			return err
		}
	}
	if err := enc.Encode(c); err != nil {
		return err
	}
	return disk.WriteFile(t.FS, filepath.Join(t.Dir, checkpointsFile), out.Bytes())
}

// save saves weights and optimizer, and with sampler also weights to play with.
func (t *Trainer) save(ctx context.Context, next *state, c Checkpoint, sampler bool) (_ Checkpoint, err error) {
	if c.StatePath, err = wait(ctx, next, c.Name, t.client.SaveState); err != nil {
		return c, err
	}
	if sampler {
		if c.SamplerPath, err = wait(ctx, next, c.Name+"-sampler", t.client.SaveWeightsForSampler); err != nil {
			return c, err
		}
	}
	next.Saved = saved{c.Updates, c.StatePath}
	return c, t.note(c)
}

type saver func(context.Context, tinker.SaveRequest) (*tinker.Future[tinker.SaveOutput], error)

// wait sends one request to save and returns the path.
func wait(ctx context.Context, next *state, name string, send saver) (string, error) {
	f, err := send(ctx, tinker.SaveRequest{SeqID: next.NextSeqID, Name: name, Overwrite: true})
	next.NextSeqID++
	if err != nil {
		return "", err
	}
	out, err := f.Wait(ctx)
	return out.Path, err
}

// publish makes the present weights the ones that are played with.
func (t *Trainer) publish(ctx context.Context, next *state, name string) error {
	path, err := wait(ctx, next, name, t.client.SaveWeightsForSampler)
	if err != nil {
		return err
	}
	next.Samplers = append(append([]string(nil), next.Samplers...), path)
	t.player.Sampler, err = t.Service.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: path})
	return err
}

// retire deletes sampler weights that no step will ask for again. A kill in between leaves some in the state, and the next step
// deletes them.
func (t *Trainer) retire(ctx context.Context) error {
	extra := len(t.state.Samplers) - t.Config.KeepSamplers
	if extra <= 0 {
		return nil
	}
	for _, path := range t.state.Samplers[:extra] {
		if err := t.Service.DeleteCheckpoint(ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
			return fmt.Errorf("old sampler weights: %w", err)
		}
	}
	next := t.state
	next.Samplers = next.Samplers[extra:]
	return t.commitState(next)
}

// finish saves the last committed step, if that was not done, under the seed's name: the number of that step. Where the state that
// the step began with has that name already (in the seed it would be overwritten) it gets another. Its SeqID is committed first, so
// that a restart in between asks for the same again.
func (t *Trainer) finish(ctx context.Context) error {
	if t.finished() {
		return nil
	}
	next := t.state
	if next.Saving == 0 {
		next.Saving = next.NextSeqID
		if err := t.commitState(next); err != nil {
			return err
		}
	}
	next.NextSeqID = next.Saving
	last := next.Step - 1
	name := checkpointName(last)
	if next.Saved.Path != "" && next.Saved.Step == last {
		name += "-end"
	}
	c, err := t.save(ctx, &next, Checkpoint{Name: name, PolicyStep: last, Updates: next.Step}, true)
	if err == nil && next.Step == t.Config.MaxSteps && t.Config.Metrics && t.Config.EvalEvery > 0 {
		err = t.lastExam(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("gem: save after %d steps: %w", next.Step, err)
	}
	next.Saving = 0
	return t.commitState(next)
}

// lastExam evaluates the result of the run; its line in metrics.jsonl has the number of updates as step.
func (t *Trainer) lastExam(ctx context.Context, c Checkpoint) error {
	s, err := t.Service.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: c.SamplerPath})
	if err != nil {
		return err
	}
	m := monitor.Metrics{}
	if err := t.evaluate(ctx, s, m); err != nil {
		return err
	}
	t.monitor.Add(c.Updates, role, m)
	_, err = t.monitor.Commit(c.Updates)
	return err
}
