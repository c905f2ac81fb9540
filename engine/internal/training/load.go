package training

import (
	"fmt"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// load replaces the run's state by a saved one. Everything is read and checked before anything changes.
func (r *Run) load(req tinker.LoadRequest) (tinker.LoadOutput, error) {
	view := r.t.Store.View()
	defer view.Close()
	m, p, dir, err := view.Read(req.Path)
	if err != nil {
		return tinker.LoadOutput{}, err
	}
	if p.Kind != tinker.KindState {
		return tinker.LoadOutput{},
			tinker.Userf("engine: %s holds weights for sampling only; load a state, tinker://…/%s/…", req.Path,
				tinker.KindState)
	}
	if err := fits(r.id, r.Shape, m, req.Path); err != nil {
		return tinker.LoadOutput{}, err
	}
	kind := r.opt.kind()
	if req.Optimizer && m.Kind() != kind {
		return tinker.LoadOutput{},
			tinker.Userf("engine: checkpoint %s has the state of %s, model %s has the optimizer %s; load it without "+
				"the optimizer, or create a model from it", req.Path, m.Kind(), r.id, kind)
	}
	if err := r.installFrom(dir, m, req.Optimizer, kind, r.Version); err != nil {
		return tinker.LoadOutput{}, tinker.Serverf("engine: checkpoint %s: %w", req.Path, err)
	}
	return tinker.LoadOutput{Path: req.Path}, nil
}

// fits refuses a checkpoint of another base model or another LoRA than the model's.
func fits(id string, s weights.Shape, m checkpoint.Manifest, path string) error {
	print, err := s.Base.Fingerprint(m.LoRA.Rank == 0)
	if err != nil {
		return err
	}
	if m.Fingerprint != print {
		return tinker.Userf("engine: checkpoint %s is of base model %q (%.15s…), model %s of base model %q (%.15s…); "+
			"load it into a model of the same base", path, m.BaseModel, m.Fingerprint, id, s.Base.Name, print)
	}
	begun, now := baseOf(m.DType), baseOf(s.Base.Config.Frozen)
	if m.DType != "" && m.LoRA.Rank > 0 && begun != now {
		return tinker.Userf("engine: checkpoint %s was trained on base weights in %s, and those of base model %q are "+
			"in %s; use the base_dtype that it was trained with", path, begun, s.Base.Name, now)
	}
	a, b := m.LoRA, s.LoRA
	a.Seed, b.Seed = nil, nil
	if a != b {
		return tinker.Userf("engine: checkpoint %s has %s, model %s has %s; create a model with the checkpoint's "+
			"LoRA or from the checkpoint", path, describe(a), id, describe(b))
	}
	return nil
}

func describe(l tinker.LoRA) string {
	if l.Rank == 0 {
		return "rank 0 (full parameters)"
	}
	if l.Modules != "" {
		return fmt.Sprintf("rank %d, alpha %g, target_modules %s", l.Rank, l.Alpha, l.Modules)
	}
	return fmt.Sprintf("rank %d, alpha %g, train_attn %v, train_mlp %v, train_unembed %v", l.Rank, l.Alpha, l.TrainAttn,
		l.TrainMLP, l.TrainUnembed)
}

// installFrom reads a state folder into the run, whose optimizer is of that kind. root is as for pack.
func (r *Run) installFrom(dir string, m checkpoint.Manifest, optimizer bool, kind string, root *weights.Version) error {
	name := checkpoint.AdapterFile
	if r.Full() {
		name = checkpoint.MasterFile
	}
	if err := m.Check(dir, name); err != nil {
		return err
	}
	params, err := checkpoint.ReadTensors(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	opt := newOptimizer(kind, params)
	if optimizer {
		if err := m.Check(dir, checkpoint.OptimizerFile); err != nil {
			return err
		}
		saved, err := checkpoint.ReadTensors(filepath.Join(dir, checkpoint.OptimizerFile))
		if err != nil {
			return err
		}
		if opt, err = readMoments(saved, params, kind, m.Step); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, checkpoint.OptimizerFile), err)
		}
	}
	return r.install(params, opt, root)
}

func readMoments(saved, params []model.Tensor, kind string, step int64) (optimizer, error) {
	byName := map[string][]float32{}
	for _, t := range saved {
		byName[t.Name] = t.Data
	}
	var all [][]float32
	for _, prefix := range []string{"m.", "v."}[:momentSets(kind)] {
		for _, p := range params {
			v := byName[prefix+p.Name]
			if len(v) != len(p.Data) {
				return optimizer{}, fmt.Errorf("%s%s has %d values, the parameter has %d", prefix, p.Name, len(v),
					len(p.Data))
			}
			all = append(all, v)
		}
	}
	return restoredOptimizer(kind, all, step), nil
}

// baseOf is the base_dtype of a computation in that dtype.
func baseOf(dtype string) string {
	if dtype == model.Int8 || dtype == model.Int4 {
		return dtype
	}
	return "bf16"
}
