package engine

import (
	"io"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Export returns the files of a checkpoint that other programs need in another form than the engine's: an adapter on
// the head of a tied model (see model.PEFT.Tied). Most checkpoints have none, nor has one whose base model is not
// served.
func (e *Engine) Export(path string) ([]tinker.ExportFile, error) {
	m, _, dir, err := e.store.read(path)
	if err != nil {
		return nil, err
	}
	b, ok := e.bases[m.BaseModel]
	if !ok || m.LoRA.Rank == 0 || !b.config.Tied || b.adapter != "" {
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
