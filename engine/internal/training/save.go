package training

import (
	"errors"
	"io/fs"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// save writes a checkpoint of the run's current state. A checkpoint that the run saved at this SeqID or later is
// replaced without Overwrite: it comes from the same request, which is now replayed after a crash.
func (r *Run) save(req tinker.SaveRequest, kind tinker.Kind) (tinker.SaveOutput, error) {
	if err := tinker.CheckName(req.Name); err != nil {
		return tinker.SaveOutput{}, err
	}
	if req.TTL < 0 {
		return tinker.SaveOutput{}, tinker.Userf("engine: ttl is %v; it must be 0, which keeps the checkpoint, or more",
			req.TTL)
	}
	p := tinker.Path{ModelID: r.id, Kind: kind, Name: req.Name}
	seq := r.q.Current()
	if !req.Overwrite {
		old, _, _, err := r.t.Store.Read(p.String())
		var unread *fs.PathError
		switch {
		case errors.As(err, &unread): // whose it is cannot be told now
			return tinker.SaveOutput{}, err
		case !errors.Is(err, tinker.ErrNotFound) && !(err == nil && old.SeqID >= seq):
			return tinker.SaveOutput{}, tinker.Userf("engine: checkpoint %s: %w; choose another name or set overwrite",
				p, tinker.ErrExists)
		}
	}
	m, err := r.manifest(seq, kind, req.TTL)
	if err != nil {
		return tinker.SaveOutput{}, err
	}
	files, err := r.files(m)
	if err != nil {
		return tinker.SaveOutput{}, err
	}
	if err := r.t.Store.Write(p, m, files); err != nil {
		return tinker.SaveOutput{}, err
	}
	r.t.noteSaved(p.String(), r.Version)
	return tinker.SaveOutput{Path: p.String()}, nil
}

func (r *Run) manifest(seq int64, kind tinker.Kind, ttl time.Duration) (checkpoint.Manifest, error) {
	print, err := r.Base.Fingerprint(r.Full())
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	m := checkpoint.Manifest{Format: checkpoint.Format, Numerics: r.t.Numerics, DType: r.Version.Dtype(), ModelID: r.id,
		SeqID: seq, BaseModel: r.Base.Name,
		Fingerprint: print, LoRA: r.LoRA, Step: r.opt.steps(), Optimizer: kind == tinker.KindState,
		OptimizerType: r.opt.noted()}
	if ttl > 0 {
		t := r.t.Now().Add(ttl).UTC()
		m.Expires = &t
	}
	return m, nil
}

// files lists what a checkpoint of the run consists of.
func (r *Run) files(m checkpoint.Manifest) ([]checkpoint.File, error) {
	var files []checkpoint.File
	if r.Full() {
		copies, err := checkpoint.CopiedFiles(r.Base.Dir)
		if err != nil {
			return nil, err
		}
		files = append(files, copies...)
		files = append(files, checkpoint.TensorFile(checkpoint.WeightsFile, r.Params, r.Version.W.Config.BF16))
		if m.Optimizer {
			files = append(files, checkpoint.TensorFile(checkpoint.MasterFile, r.Params, false))
		}
	} else {
		config := r.Model().PEFTConfig(r.Base.Name, r.Base.Config)
		files = append(files, checkpoint.JSONFile(checkpoint.AdapterConfig, config),
			checkpoint.TensorFile(checkpoint.AdapterFile, r.Params, false))
	}
	if m.Optimizer {
		files = append(files, checkpoint.TensorFile(checkpoint.OptimizerFile, r.opt.tensors(r.Params), false))
	}
	return files, nil
}
