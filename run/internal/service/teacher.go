package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// FindTeacher finds the teacher of the job's model: the one of explorer.auxiliary_models that is named teacher, or else
// the first.
func FindTeacher(ctx context.Context, j *job.Job) (t job.Teacher, err error) {
	path, err := TeacherPath(j.Config)
	switch {
	case err != nil:
		return t, err
	case strings.HasPrefix(path, "tinker://"):
		t.Request.ModelPath = path
		return t, nil
	case path == j.Model.Name || j.Backend.Kind != config.Local:
		t.Request.BaseModel = path
		return t, nil
	}
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	served, err := teacherModel(ctx, j, path)
	if err != nil {
		return t, fmt.Errorf("run: teacher %s: %w", path, err)
	}
	t.Request.BaseModel, t.Served = path, map[string]engine.Model{path: served}
	return t, nil
}

// TeacherPath is the teacher as the configuration names it.
func TeacherPath(cfg *config.Config) (string, error) {
	list := cfg.Explorer.AuxiliaryModels
	if len(list) == 0 {
		return "", fmt.Errorf("run: algorithm %s learns from a teacher, and explorer.auxiliary_models is empty; name "+
			"the teacher's model_path there: a model, a job's folder or its global_step_<n>, the folder of an "+
			"adapter, or a tinker:// path",
			cfg.Algorithm.Type)
	}
	for _, m := range list {
		if m.Name == "teacher" {
			return m.ModelPath, nil
		}
	}
	return list[0].ModelPath, nil
}

// teacherModel is the model that the engine serves as the teacher: a model folder, or this run's base model with an
// adapter.
func teacherModel(ctx context.Context, j *job.Job, path string) (engine.Model, error) {
	dir, err := SavedWeights(j.Find(path))
	if err != nil {
		return engine.Model{}, err
	}
	served := engine.Model{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, engine.AdapterConfigFile)); err == nil {
		served = engine.Model{Dir: j.Model.Dir, Adapter: dir}
		return served, sameTokens(j.Model, served.Dir)
	}
	there := *j
	there.Find = func(string) string { return dir }
	if served.Dir, err = there.ModelFolder(ctx, path); err != nil {
		return served, err
	}
	return served, sameTokens(j.Model, served.Dir)
}

// SavedWeights turns a job's folder, or one of its global_step_<n>, into the folder of the weights saved there; another
// path stays.
func SavedWeights(dir string) (string, error) {
	if !disk.IsFolder(dir) {
		return dir, nil
	}
	if n, err := os.ReadFile(filepath.Join(dir, "latest_checkpointed_iteration.txt")); err == nil {
		dir = filepath.Join(dir, "global_step_"+strings.TrimSpace(string(n)))
	}
	for _, note := range []string{"remote_checkpoint_path.txt", "remote_sampler_path.txt"} {
		path, err := os.ReadFile(filepath.Join(dir, note))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return engine.CheckpointFolder(filepath.Join(filepath.Dir(dir), "tinker", "checkpoints"),
			strings.TrimSpace(string(path)))
	}
	return dir, nil
}

// sameTokens refuses a model that does not read the same tokens as the one that is trained: its logprobs would be of
// other texts.
func sameTokens(m *job.Model, dir string) error {
	if dir == m.Dir {
		return nil
	}
	config, err := engine.Describe(dir)
	if err != nil {
		return err
	}
	other, err := tokenizer.Load(dir)
	if err != nil {
		return err
	}
	for id := range int32(config.Vocab) {
		if !bytes.Equal(m.Tokenizer.Bytes(id), other.Bytes(id)) {
			return fmt.Errorf("its token %d is %q, and %q in %s; a teacher must read the same tokens as the model "+
				"that it teaches", id, other.Bytes(id), m.Tokenizer.Bytes(id), m.Name)
		}
	}
	return nil
}
