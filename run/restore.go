package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// restoreVersion publishes sampler weights that were deleted again, from the state that was saved at the same step: a model is made of it for a
// moment. It returns false when no state of that step was saved or it is gone.
func (b *job) restoreVersion(ctx context.Context, version int) (bool, error) {
	dir := filepath.Join(b.dir, "global_step_"+strconv.Itoa(version))
	saved, err := os.ReadFile(filepath.Join(dir, "remote_checkpoint_path.txt"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("run: %w", err)
	}
	path, err := b.samplerOf(ctx, strings.TrimSpace(string(saved)), version)
	if errors.Is(err, tinker.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = disk.WriteFile(b.fs, filepath.Join(dir, "remote_sampler_path.txt"), []byte(path))
	}
	if err != nil {
		return false, fmt.Errorf("run: sampler weights of step %d from the state saved there: %w", version, err)
	}
	b.sync.Publish(version, path)
	b.noteOnce("the sampler weights of step %d were deleted and are made again from the state that was saved there", version)
	return true, nil
}

// samplerOf saves the weights of a state for samplers and returns their path.
func (b *job) samplerOf(ctx context.Context, state string, version int) (string, error) {
	client, err := b.service.CreateModelFromState(ctx, tinker.CreateFromStateRequest{Path: state})
	if err != nil {
		return "", err
	}
	info, err := client.Info(ctx)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-sampler-%d", prefix(b.cfg), version) // retire reads the step in it
	f, err := client.SaveWeightsForSampler(ctx, tinker.SaveRequest{SeqID: info.NextSeqID, Name: name})
	if err != nil {
		return "", err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return "", err
	}
	return out.Path, b.unload(ctx, info.ModelID)
}

// unload gives up a model that is not needed any more, where the service can.
func (b *job) unload(ctx context.Context, model string) error {
	s, can := b.service.(tinker.Unloader)
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
