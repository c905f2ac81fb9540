package run

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
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// teacher is the model whose logprobs a distillation learns from: explorer.auxiliary_models, the one named teacher or
// else the first.
type teacher struct {
	request tinker.SamplingClientRequest
	served  map[string]engine.Model // what the local engine must serve for it
}

// buildTeacher finds the teacher if the algorithm needs one.
func (b *job) buildTeacher(ctx context.Context) error {
	if !b.method.Needs().Teacher {
		return nil
	}
	path, err := teacherPath(b.cfg)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(path, "tinker://"):
		b.teacher.request.ModelPath = path
		return nil
	case path == b.model.name || b.backend.Kind != config.Local:
		b.teacher.request.BaseModel = path
		return nil
	}
	ctx, cancel := b.whileWanted(ctx)
	defer cancel()
	m, err := b.teacherModel(ctx, path)
	if err != nil {
		return fmt.Errorf("run: teacher %s: %w", path, err)
	}
	b.teacher.request.BaseModel, b.teacher.served = path, map[string]engine.Model{path: m}
	return nil
}

func teacherPath(cfg *config.Config) (string, error) {
	list := cfg.Explorer.AuxiliaryModels
	if len(list) == 0 {
		return "", fmt.Errorf("run: algorithm %s learns from a teacher, and explorer.auxiliary_models is empty; name "+
			"the teacher's model_path there: "+
			"a model, a job's folder or its global_step_<n>, the folder of an adapter, or a tinker:// path",
			cfg.Algorithm.Type)
	}
	for _, m := range list {
		if m.Name == "teacher" {
			return m.ModelPath, nil
		}
	}
	return list[0].ModelPath, nil
}

// teacherModel is what the engine serves as the teacher: a model folder, or this run's base model with an adapter.
func (b *job) teacherModel(ctx context.Context, path string) (engine.Model, error) {
	dir, err := savedWeights(b.Find(path))
	if err != nil {
		return engine.Model{}, err
	}
	m := engine.Model{Dir: dir}
	if _, err := os.Stat(filepath.Join(dir, engine.AdapterConfigFile)); err == nil {
		m = engine.Model{Dir: b.model.dir, Adapter: dir}
	} else if m.Dir, err = FindModel(ctx, path, func(string) string { return dir }, b.Hub); err != nil {
		return m, err
	}
	return m, b.sameTokens(m.Dir)
}

// savedWeights turns a job's folder, or one of its global_step_<n>, into the folder of the weights saved there; another
// path stays.
func savedWeights(dir string) (string, error) {
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
func (b *job) sameTokens(dir string) error {
	if dir == b.model.dir {
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
		if !bytes.Equal(b.model.tokenizer.Bytes(id), other.Bytes(id)) {
			return fmt.Errorf("its token %d is %q, and %q in %s; a teacher must read the same tokens as the model "+
				"that it teaches", id, other.Bytes(id), b.model.tokenizer.Bytes(id), b.model.name)
		}
	}
	return nil
}
