package gem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Checkpoint is a line of checkpoints.jsonl. PolicyStep is the step the seed notes; Updates says how many updates the
// weights have had, which for the last checkpoint is one more.
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

// LastSampler is the path of the last weights of a run that can be sampled from.
func LastSampler(dir string) (string, error) {
	list, err := ReadCheckpoints(dir)
	if err != nil {
		return "", err
	}
	for _, c := range slices.Backward(list) {
		if c.SamplerPath != "" {
			return c.SamplerPath, nil
		}
	}
	return "", fmt.Errorf("gem: %s names no sampler weights; they are saved at the end of a run, and when Ctrl-C "+
		"ends it", filepath.Join(dir, checkpointsFile))
}

// add adds a line, in the place of one with its name.
func (n *notes) add(c Checkpoint) error {
	list, err := ReadCheckpoints(n.dir)
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
	return disk.WriteFile(n.fs, filepath.Join(n.dir, checkpointsFile), out.Bytes())
}

// retire deletes sampler weights that no step will ask for again, all but the newest keep. A kill in between leaves
// some in the state, and the next step deletes them.
func (n *notes) retire(ctx context.Context, service tinker.Service, keep int) error {
	extra := len(n.state.Samplers) - keep
	if extra <= 0 {
		return nil
	}
	for _, path := range n.state.Samplers[:extra] {
		if err := service.DeleteCheckpoint(ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
			return fmt.Errorf("gem: old sampler weights: %w", err)
		}
	}
	n.state.Samplers = n.state.Samplers[extra:]
	return n.write()
}
