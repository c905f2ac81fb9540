package engine

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// ImportPEFT saves the adapter in dir, a folder of Python's peft or of this program, as a checkpoint: a state of model
// modelID with that name, without optimizer state. CreateModelFromState accepts the path it returns.
func (e *Engine) ImportPEFT(baseModel, dir, modelID, name string) (path string, err error) {
	b, err := e.base(baseModel)
	if err != nil {
		return "", err
	}
	a, err := model.ReadPEFT(dir)
	if err != nil {
		return "", tinker.Userf("engine: %w", err)
	}
	root, held, err := e.use(b, false)
	if err != nil {
		return "", err
	}
	defer held.end()
	a.Fill(root.w.Config)
	for _, t := range a.Tensors {
		if !finite(t.Data) {
			return "", tinker.Userf("engine: %s: tensor %s has values that are not finite", dir, t.Name)
		}
	}
	if _, err := root.w.NewAdapter(a.LoRA, a.Tensors, e.compute.K); err != nil {
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
	m := manifest{Format: manifestFormat, Numerics: e.NumericsID(), DType: dtype(root.w.Config), ModelID: modelID,
		BaseModel: baseModel, Fingerprint: print, LoRA: seamLoRA(a.LoRA)}
	files := []file{jsonFile(adapterConfig, a.LoRA.PEFTConfig(baseModel)), tensorFile(adapterFile, a.Tensors, false)}
	p := tinker.Path{ModelID: modelID, Kind: tinker.KindState, Name: name}
	return p.String(), e.store.write(p, m, files)
}

// seamLoRA converts a LoRA to package tinker's type.
func seamLoRA(l model.LoRA) tinker.LoRA {
	return tinker.LoRA{Rank: l.Rank, Alpha: l.Alpha, Seed: new(int64), TrainAttn: l.Attn, TrainMLP: l.MLP,
		TrainUnembed: l.Unembed,
		Modules:      strings.Join(l.Modules, ",")}
}
