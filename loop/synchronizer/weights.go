package synchronizer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The notes in global_step_<n>/ of a job directory, by upstream's names: the paths of what the service has.
const (
	stateNote   = "remote_checkpoint_path.txt"
	criticNote  = "critic_checkpoint_path.txt"
	samplerNote = "remote_sampler_path.txt"
	wholeNote   = ".full_checkpoint" // says that a saved state is whole
)

// Weights are the weights that a job has saved on its service, with their notes in the job directory.
type Weights struct {
	FS      disk.FS
	Dir     string // the job directory
	Prefix  string // of the names of checkpoints
	Service tinker.Service
}

// stepOf is the step of a folder global_step_<n>; ok is false for a folder that is not ours.
func stepOf(dir string) (step int, ok bool) {
	step, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "global_step_"))
	return step, err == nil
}

func (w Weights) stepDir(step int) string {
	return filepath.Join(w.Dir, "global_step_"+strconv.Itoa(step))
}

// noted are the files of a name in the folders of all steps, in the order of their paths.
func (w Weights) noted(name string) ([]string, error) {
	files, err := disk.Glob(w.Dir, "global_step_*/"+name)
	if err != nil {
		return nil, fmt.Errorf("synchronizer: %w", err)
	}
	return files, nil
}

// published is what a job directory notes of published weights.
type published struct {
	version int
	path    string
}

func (w Weights) published() ([]published, error) {
	files, err := w.noted(samplerNote)
	if err != nil {
		return nil, err
	}
	var list []published
	for _, file := range files {
		version, ours := stepOf(filepath.Dir(file))
		if !ours {
			continue
		}
		path, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("synchronizer: %w", err)
		}
		list = append(list, published{version, strings.TrimSpace(string(path))})
	}
	return list, nil
}

// Retire deletes sampler weights that no step will ask for again, and their note in the job directory.
func (w Weights) Retire(ctx context.Context, path string) error {
	if err := w.Service.DeleteCheckpoint(ctx, path); err != nil && !errors.Is(err, tinker.ErrNotFound) {
		return fmt.Errorf("synchronizer: old sampler weights: %w", err)
	}
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	step := p.Name[strings.LastIndex(p.Name, "-")+1:]
	dir := filepath.Join(w.Dir, "global_step_"+step)
	if err := w.FS.Remove(filepath.Join(dir, samplerNote)); err != nil {
		return fmt.Errorf("synchronizer: %w", err)
	}
	return w.removeEmpty(dir)
}

func (w Weights) removeEmpty(dir string) error {
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		return nil
	}
	return w.FS.Remove(dir)
}

// KeepStates deletes the oldest saved states, so that most are left, with the state of step saved, which stays.
func (w Weights) KeepStates(ctx context.Context, most, saved int) error {
	files, err := w.noted(wholeNote)
	if err != nil {
		return err
	}
	var steps []int
	for _, file := range files {
		if step, ours := stepOf(filepath.Dir(file)); ours && step < saved {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	for _, step := range steps[:max(0, len(steps)+1-most)] {
		if err := w.dropState(ctx, w.stepDir(step)); err != nil {
			return fmt.Errorf("synchronizer: old checkpoint of step %d: %w", step, err)
		}
	}
	return nil
}

// dropState deletes a saved state and its notes, the one that says that it is whole last.
func (w Weights) dropState(ctx context.Context, dir string) error {
	for _, file := range []string{stateNote, criticNote} {
		path, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = w.Service.DeleteCheckpoint(ctx, strings.TrimSpace(string(path)))
		}
		if err != nil && !errors.Is(err, tinker.ErrNotFound) {
			return err
		}
		if err := w.FS.Remove(filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	if err := w.FS.Remove(filepath.Join(dir, wholeNote)); err != nil {
		return err
	}
	return w.removeEmpty(dir)
}
