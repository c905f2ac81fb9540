package engine

import (
	"errors"
	"io/fs"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// save writes a checkpoint of the run's current state. A checkpoint that the run saved at this SeqID or later is
// replaced without Overwrite: it comes from the same request, which is now replayed after a crash.
func (r *trainingRun) save(req tinker.SaveRequest, kind tinker.Kind) (tinker.SaveOutput, error) {
	if err := tinker.CheckName(req.Name); err != nil {
		return tinker.SaveOutput{}, err
	}
	if req.TTL < 0 {
		return tinker.SaveOutput{}, tinker.Userf("engine: ttl is %v; it must be 0, which keeps the checkpoint, or more",
			req.TTL)
	}
	p := tinker.Path{ModelID: r.id, Kind: kind, Name: req.Name}
	seq := r.q.current()
	if !req.Overwrite {
		old, _, _, err := r.t.store.read(p.String())
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
	if err := r.t.store.write(p, m, files); err != nil {
		return tinker.SaveOutput{}, err
	}
	r.t.noteSaved(p.String(), r.version)
	return tinker.SaveOutput{Path: p.String()}, nil
}

func (r *trainingRun) manifest(seq int64, kind tinker.Kind, ttl time.Duration) (manifest, error) {
	print, err := r.base.fingerprint(r.full())
	if err != nil {
		return manifest{}, err
	}
	m := manifest{Format: manifestFormat, Numerics: r.t.numerics, DType: r.version.dtype(), ModelID: r.id,
		SeqID: seq, BaseModel: r.base.name,
		Fingerprint: print, LoRA: r.lora, Step: r.opt.steps(), Optimizer: kind == tinker.KindState,
		OptimizerType: r.opt.noted()}
	if ttl > 0 {
		t := r.t.now().Add(ttl).UTC()
		m.Expires = &t
	}
	return m, nil
}

// files lists what a checkpoint of the run consists of.
func (r *trainingRun) files(m manifest) ([]file, error) {
	var files []file
	if r.full() {
		copies, err := copiedFiles(r.base.dir)
		if err != nil {
			return nil, err
		}
		files = append(files, copies...)
		files = append(files, tensorFile(weightsFile, r.params, r.version.w.Config.BF16))
		if m.Optimizer {
			files = append(files, tensorFile(masterFile, r.params, false))
		}
	} else {
		files = append(files, jsonFile(adapterConfig, r.model().PEFTConfig(r.base.name)),
			tensorFile(adapterFile, r.params, false))
	}
	if m.Optimizer {
		files = append(files, tensorFile(optimizerFile, r.opt.tensors(r.params), false))
	}
	return files, nil
}
