package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// keepCheckpoints deletes the oldest saved states when there are more than trainer.max_checkpoints_to_keep. saved is the last one, which stays.
func (b *job) keepCheckpoints(ctx context.Context, saved int) error {
	most := b.cfg.Trainer.MaxCheckpoints
	if most == nil || saved == 0 {
		return nil
	}
	notes, err := filepath.Glob(filepath.Join(b.dir, "global_step_*", ".full_checkpoint"))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	var steps []int
	for _, note := range notes {
		step, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(note)), "global_step_"))
		if err == nil && step < saved {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	for _, step := range steps[:max(0, len(steps)+1-*most)] {
		if err := b.dropCheckpoint(ctx, filepath.Join(b.dir, "global_step_"+strconv.Itoa(step))); err != nil {
			return fmt.Errorf("run: old checkpoint of step %d: %w", step, err)
		}
	}
	return nil
}

// dropCheckpoint deletes a saved state and its notes, the one that says that it is whole last.
func (b *job) dropCheckpoint(ctx context.Context, dir string) error {
	for _, file := range []string{"remote_checkpoint_path.txt", "critic_checkpoint_path.txt"} {
		path, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = b.service.DeleteCheckpoint(ctx, strings.TrimSpace(string(path)))
		}
		if err != nil && !errors.Is(err, tinker.ErrNotFound) {
			return err
		}
		if err := b.fs.Remove(filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	if err := b.fs.Remove(filepath.Join(dir, ".full_checkpoint")); err != nil {
		return err
	}
	if left, err := os.ReadDir(dir); err == nil && len(left) == 0 {
		return b.fs.Remove(dir)
	}
	return nil
}
