package engine

import (
	"context"
	"io"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Checkpoints lists the checkpoints by path. A damaged one is left out and logged.
func (e *Engine) Checkpoints(context.Context) ([]tinker.Checkpoint, error) {
	return e.store.list(e.opts.Log)
}

// Checkpoint describes one checkpoint.
func (e *Engine) Checkpoint(path string) (tinker.Checkpoint, error) { return e.store.describe(path) }

// VerifyCheckpoints reads every checkpoint below dir, the folder of an engine that is not running. It returns their
// number and the damage.
func VerifyCheckpoints(dir string) (found int, damaged, err error) { return verify(dir) }

// Folder returns the folder of a checkpoint on disk. Callers may only read it.
func (e *Engine) Folder(path string) (string, error) {
	_, _, dir, err := e.store.read(path)
	return dir, err
}

// CheckpointFolder is Folder without an engine; dir is the [Options.Dir] of an earlier engine.
func CheckpointFolder(dir, path string) (string, error) { return folderIn(dir, path) }

// DeleteCheckpoint implements tinker.Service.
func (e *Engine) DeleteCheckpoint(_ context.Context, path string) error {
	p, err := tinker.ParsePath(path)
	if err != nil {
		return err
	}
	e.trainer.forget(path)
	if e.group.ended() {
		return errClosed()
	}
	return e.store.remove(p)
}

// Expire deletes the checkpoints whose time to live has ended by now, and returns their paths. The engine never does
// so unasked, so that a run's results do not depend on the clock.
func (e *Engine) Expire(ctx context.Context, now time.Time) ([]string, error) {
	paths, err := e.store.expired(now)
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
	b, err := e.memory.base(baseModel)
	if err != nil {
		return "", err
	}
	a, err := model.ReadPEFT(dir)
	if err != nil {
		return "", tinker.Userf("engine: %w", err)
	}
	root, held, err := e.memory.use(b, false)
	if err != nil {
		return "", err
	}
	defer held.end()
	a.Fill(root.w.Config)
	for _, t := range a.Tensors {
		if !nn.Finite(t.Data) {
			return "", tinker.Userf("engine: %s: tensor %s has values that are not finite", dir, t.Name)
		}
	}
	if _, err := root.w.NewAdapter(a.LoRA, a.Tensors, e.memory.compute.K); err != nil {
		return "", tinker.Userf("engine: %s on base model %q: %w", dir, baseModel, err)
	}
	if err := tinker.CheckName(name); err != nil {
		return "", err
	}
	sortByName(a.Tensors)
	print, err := b.fingerprint(false)
	if err != nil {
		return "", err
	}
	m := manifest{Format: manifestFormat, Numerics: e.NumericsID(), DType: root.dtype(), ModelID: modelID,
		BaseModel: baseModel, Fingerprint: print, LoRA: seamLoRA(a.LoRA)}
	files := []file{jsonFile(adapterConfig, a.LoRA.PEFTConfig(baseModel)), tensorFile(adapterFile, a.Tensors, false)}
	p := tinker.Path{ModelID: modelID, Kind: tinker.KindState, Name: name}
	return p.String(), e.store.write(p, m, files)
}

// Export returns the files of a checkpoint that other programs need in another form than the engine's: an adapter on
// the head of a tied model (see model.PEFT.Tied). Most checkpoints have none, nor has one whose base model is not
// served.
func (e *Engine) Export(path string) ([]tinker.ExportFile, error) {
	m, _, dir, err := e.store.read(path)
	if err != nil {
		return nil, err
	}
	b := e.memory.find(m.BaseModel)
	if b == nil || m.LoRA.Rank == 0 || !b.config.Tied || b.adapter != "" {
		return nil, nil
	}
	a, err := model.ReadPEFT(dir)
	if err != nil {
		return nil, err
	}
	tied, err := a.Tied(b.dir)
	if err != nil || tied == nil {
		return nil, err
	}
	config := tied.Config
	return []tinker.ExportFile{
		{
			Name:  adapterConfig,
			Size:  int64(len(config)),
			Write: func(w io.Writer) error { return copyAll(w, config) },
			Close: func() error { return nil },
		},
		{Name: adapterFile, Size: tied.Size, Write: tied.Write, Close: tied.Close},
	}, nil
}
