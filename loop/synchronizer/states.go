package synchronizer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// forgetTimeout bounds the wait until a server has deleted weights that were lent.
const forgetTimeout = 10 * time.Second

// States are the steps whose state the job has saved, in order.
func (w Weights) States() ([]int, error) {
	dirs, err := w.noted("")
	if err != nil {
		return nil, err
	}
	var steps []int
	for _, dir := range dirs {
		step, ours := stepOf(dir)
		if !ours {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, stateNote)); err == nil {
			steps = append(steps, step)
		} else if _, err := os.Stat(filepath.Join(dir, "actor")); err == nil {
			return nil, fmt.Errorf("run: %s is a checkpoint of Trinity-RFT's verl backend, which is not read; "+
				"name its actor/huggingface folder in model.model_path, and another job", dir)
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// State is the path of the state that was saved at a step.
func (w Weights) State(step int) (string, error) {
	path, err := os.ReadFile(filepath.Join(w.stepDir(step), stateNote))
	return strings.TrimSpace(string(path)), err
}

// Lend saves the weights of a state for samplers under a name, until TakeBack.
func (w Weights) Lend(ctx context.Context, state, name string) (path string, err error) {
	client, err := w.Service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: state})
	if err != nil {
		return "", err
	}
	f, err := client.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: name})
	if err != nil {
		return "", err
	}
	out, err := f.Wait(ctx)
	return out.Path, err
}

// TakeBack deletes weights that Lend saved, even if ctx has ended.
func (w Weights) TakeBack(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	return w.Service.DeleteCheckpoint(ctx, path)
}
