package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"weak"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The files of a checkpoint. An adapter is in PEFT's format. Full parameters are a Hugging Face folder in the model's
// dtype; a state also has the f32 values that the optimizer updates.
const (
	manifestFile  = "trinity.json"
	adapterFile   = model.PEFTWeightsFile
	adapterConfig = model.PEFTConfigFile
	weightsFile   = "model.safetensors"
	masterFile    = "master.safetensors"
	optimizerFile = "optimizer.safetensors"
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
	seq := r.current()
	if !req.Overwrite {
		old, _, _, err := r.e.store.read(p.String())
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
	if err := r.e.store.write(p, m, files); err != nil {
		return tinker.SaveOutput{}, err
	}
	r.e.mu.Lock()
	r.e.saved[p.String()] = weak.Make(r.version)
	r.e.mu.Unlock()
	return tinker.SaveOutput{Path: p.String()}, nil
}

// current is the SeqID of the running request.
func (r *trainingRun) current() int64 {
	r.q.mu.Lock()
	defer r.q.mu.Unlock()
	return r.q.done + 1
}

func (r *trainingRun) manifest(seq int64, kind tinker.Kind, ttl time.Duration) (manifest, error) {
	print, err := r.base.fingerprint(r.full())
	if err != nil {
		return manifest{}, err
	}
	m := manifest{Format: manifestFormat, Numerics: r.e.NumericsID(), DType: dtype(r.version.w.Config), ModelID: r.id,
		SeqID: seq, BaseModel: r.base.name,
		Fingerprint: print, LoRA: r.lora, Step: r.opt.steps(), Optimizer: kind == tinker.KindState,
		OptimizerType: r.opt.noted()}
	if ttl > 0 {
		t := r.e.opts.Now().Add(ttl).UTC()
		m.Expires = &t
	}
	return m, nil
}

func dtype(c model.Config) string {
	if c.BF16 {
		return "bf16"
	}
	return "f32"
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
		files = append(files, jsonFile(adapterConfig, modelLoRA(r.lora).PEFTConfig(r.base.name)),
			tensorFile(adapterFile, r.params, false))
	}
	if m.Optimizer {
		files = append(files, tensorFile(optimizerFile, r.opt.tensors(r.params), false))
	}
	return files, nil
}

// copiedFiles are the files of the base model that complete the model folder.
func copiedFiles(dir string) ([]file, error) {
	var files []file
	for _, name := range model.FolderFiles(dir, true) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		files = append(files, file{name, func(w io.Writer) error { return copyAll(w, raw) }})
	}
	return files, nil
}

func copyAll(w io.Writer, raw []byte) error {
	_, err := io.Copy(w, bytes.NewReader(raw))
	return err
}

func jsonFile(name string, v any) file {
	return file{name, func(w io.Writer) error {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		return copyAll(w, append(raw, '\n'))
	}}
}

func tensorFile(name string, tensors []model.Tensor, bf16 bool) file {
	return file{name, func(w io.Writer) error {
		list := make([]safetensors.Tensor, len(tensors))
		for i, t := range tensors {
			if bf16 {
				list[i] = safetensors.FromBF16(t.Name, t.Shape, t.Data)
			} else {
				list[i] = safetensors.FromF32(t.Name, t.Shape, t.Data)
			}
		}
		return safetensors.Encode(w, list, map[string]string{"format": "pt"})
	}}
}

// moments names the optimizer's slices by a prefix and their parameters' names.
func moments(prefix string, params []model.Tensor, data [][]float32) []model.Tensor {
	out := make([]model.Tensor, len(params))
	for i, t := range params {
		out[i] = model.Tensor{Name: prefix + t.Name, Shape: t.Shape, Data: data[i]}
	}
	return out
}

// DeleteCheckpoint implements tinker.Service.
func (e *Engine) DeleteCheckpoint(_ context.Context, path string) error {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	e.mu.Lock()
	delete(e.saved, path)
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return errClosed()
	}
	return e.store.remove(p)
}

// Expire deletes the checkpoints whose time to live has ended by now, and returns their paths. The engine never does
// so by itself, so that a run's results do not depend on the clock.
func (e *Engine) Expire(ctx context.Context, now time.Time) ([]string, error) {
	paths, err := e.store.all()
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, p := range paths {
		m, _, _, err := e.store.readAt(p.String(), now)
		if m.Expires == nil || !errors.Is(err, tinker.ErrNotFound) {
			continue
		}
		if err := e.DeleteCheckpoint(ctx, p.String()); err != nil {
			return gone, err
		}
		gone = append(gone, p.String())
	}
	return gone, nil
}
