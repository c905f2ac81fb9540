package engine

import (
	"context"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/merge"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Checkpoints lists the checkpoints by path. A damaged one is left out and logged.
func (e *Engine) Checkpoints(context.Context) ([]tinker.Checkpoint, error) {
	return e.store.List(e.opts.Log)
}

// Checkpoint describes one checkpoint.
func (e *Engine) Checkpoint(path string) (tinker.Checkpoint, error) { return e.store.Describe(path) }

// VerifyCheckpoints reads every checkpoint below dir, the folder of an engine that is not running. It returns their
// number and the damage.
func VerifyCheckpoints(dir string) (found int, damaged, err error) { return checkpoint.Verify(dir) }

// Folder returns the folder of a checkpoint on disk. Callers may only read it.
func (e *Engine) Folder(path string) (string, error) {
	_, _, dir, err := e.store.Read(path)
	return dir, err
}

// CheckpointFolder is Folder without an engine; dir is the [Options.Dir] of an earlier engine.
func CheckpointFolder(dir, path string) (string, error) { return checkpoint.Folder(dir, path) }

// CopyCheckpoint saves a copy of a checkpoint under another path, without its time to live.
func (e *Engine) CopyCheckpoint(from string, to tinker.Path) error {
	if e.group.Ended() {
		return lifetime.Closed()
	}
	return e.store.Copy(from, to)
}

// DeleteCheckpoint implements tinker.Service.
func (e *Engine) DeleteCheckpoint(_ context.Context, path string) error {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	e.trainer.Forget(path)
	if e.group.Ended() {
		return lifetime.Closed()
	}
	return e.store.Remove(p)
}

// Expire deletes the checkpoints whose time to live has ended by now, and returns their paths. The engine never does
// so unasked, so that a run's results do not depend on the clock.
func (e *Engine) Expire(ctx context.Context, now time.Time) ([]string, error) {
	paths, err := e.store.Expired(now)
	var gone []string
	for _, p := range paths {
		if err := e.DeleteCheckpoint(ctx, p.String()); err != nil {
			return gone, err
		}
		gone = append(gone, p.String())
	}
	return gone, err
}

// ImportPEFT saves the adapter in dir, a folder of Python's peft or of this program, as a checkpoint: a state of model
// modelID with that name, without optimizer state. CreateModelFromState accepts the path it returns.
func (e *Engine) ImportPEFT(baseModel, dir, modelID, name string) (path string, err error) {
	b, err := e.memory.Base(baseModel)
	if err != nil {
		return "", err
	}
	a, err := model.ReadPEFT(dir)
	if err != nil {
		return "", tinker.Userf("engine: %w", err)
	}
	root, held, err := e.memory.Use(b, false)
	if err != nil {
		return "", err
	}
	defer held.End()
	if err := a.CheckBase(root.W.Config.Frozen); err != nil {
		return "", tinker.Userf("engine: %s: %w", dir, err)
	}
	a.Fill(root.W.Config)
	for _, t := range a.Tensors {
		if !nn.Finite(t.Data) {
			return "", tinker.Userf("engine: %s: tensor %s has values that are not finite", dir, t.Name)
		}
	}
	if _, err := root.W.NewAdapter(a.LoRA, a.Tensors, e.memory.Compute.K); err != nil {
		return "", tinker.Userf("engine: %s on base model %q: %w", dir, baseModel, err)
	}
	if err := tinker.CheckName(name); err != nil {
		return "", err
	}
	checkpoint.SortByName(a.Tensors)
	print, err := b.Fingerprint(false)
	if err != nil {
		return "", err
	}
	m := checkpoint.Manifest{Format: checkpoint.Format, Numerics: e.NumericsID(), DType: root.Dtype(), ModelID: modelID,
		BaseModel: baseModel, Fingerprint: print, LoRA: weights.SeamLoRA(a.LoRA)}
	config := a.LoRA.PEFTConfig(baseModel, root.W.Config)
	files := []checkpoint.File{checkpoint.JSONFile(checkpoint.AdapterConfig, config),
		checkpoint.TensorFile(checkpoint.AdapterFile, a.Tensors, false)}
	p := tinker.Path{ModelID: modelID, Kind: tinker.KindState, Name: name}
	return p.String(), e.store.Write(p, m, files)
}

// Export returns the files of a checkpoint that other programs need in another form than the engine's: an adapter on
// the head of a tied model, or on a model with others around it (see merge.Foreign). Most checkpoints have none. Nor
// has one whose base model is not served.
func (e *Engine) Export(path string) ([]tinker.ExportFile, error) {
	view := e.store.View()
	defer view.Close()
	m, _, dir, err := view.Read(path)
	if err != nil {
		return nil, err
	}
	b := e.memory.Find(m.BaseModel)
	if b == nil || m.LoRA.Rank == 0 || !b.Config.Tied && !b.Config.Wrapped || b.Adapter != "" {
		return nil, nil
	}
	a, err := model.ReadPEFT(dir)
	if err != nil {
		return nil, err
	}
	out, err := merge.Foreign(a, b.Dir)
	if err != nil || out == nil {
		return nil, err
	}
	config := out.Config
	return []tinker.ExportFile{
		{
			Name:  checkpoint.AdapterConfig,
			Size:  int64(len(config)),
			Write: func(w io.Writer) error { return checkpoint.CopyAll(w, config) },
			Close: func() error { return nil },
		},
		{Name: checkpoint.AdapterFile, Size: out.Size, Write: out.Write, Close: out.Close},
	}, nil
}
