package synchronizer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// makeAgain makes sampler weights that were deleted once more, of the state that was saved at the same step: a model
// is made of it for a moment. ok is false when no state of that step was saved or it is gone.
func (w Weights) makeAgain(ctx context.Context, version int) (path string, ok bool, err error) {
	dir := w.stepDir(version)
	saved, err := os.ReadFile(filepath.Join(dir, stateNote))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("synchronizer: %w", err)
	}
	path, err = w.samplerOf(ctx, strings.TrimSpace(string(saved)), version)
	if errors.Is(err, tinker.ErrNotFound) {
		return "", false, nil
	}
	if err == nil {
		err = disk.WriteFile(w.FS, filepath.Join(dir, samplerNote), []byte(path))
	}
	if err != nil {
		return "", false, fmt.Errorf("synchronizer: sampler weights of step %d from the state saved there: %w",
			version, err)
	}
	return path, true, nil
}

// samplerOf saves the weights of a state for samplers and returns their path.
func (w Weights) samplerOf(ctx context.Context, state string, version int) (string, error) {
	client, err := w.Service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: state})
	if err != nil {
		return "", err
	}
	info, err := client.Info(ctx)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-sampler-%d", w.Prefix, version) // Retire reads the step in it
	f, err := client.SaveWeightsForSampler(ctx, tinker.SaveRequest{SeqID: info.NextSeqID, Name: name})
	if err != nil {
		return "", err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return "", err
	}
	return out.Path, w.unload(ctx, info.ModelID)
}

// unload gives up a model that is not needed any more, where the service can.
func (w Weights) unload(ctx context.Context, model string) error {
	s, can := w.Service.(tinker.Unloader)
	if !can {
		return nil
	}
	f, err := s.UnloadModel(ctx, model)
	if err != nil {
		return err
	}
	_, err = f.Wait(ctx)
	return err
}

// canSample draws one token from saved weights, to see whether the service still can.
func (w Weights) canSample(ctx context.Context, path string) (bool, error) {
	c, err := w.Service.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: path})
	if err == nil {
		err = oneToken(ctx, c)
	}
	if errors.Is(err, tinker.ErrLost) || errors.Is(err, tinker.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func oneToken(ctx context.Context, c tinker.SamplingClient) error {
	params := tinker.DefaultSampling()
	params.MaxTokens = 1
	_, err := tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text([]int32{0}), NumSamples: 1,
		Params: params})
	return err
}
