package engine

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/merge"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modelfile"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// GGUF is a model, with or without an adapter, to be written as GGUF files.
type GGUF struct {
	Base     string   // the folder of the model
	Adapter  *Adapter // added to its weights; nil: nothing is
	Name     string   // of the model in the file
	Template string   // the chat template; "" takes Base's
}

// Write writes the model with its adapter as one file. The sums of weights are rounded once, from float32. The file is
// read back and compared before it gets its name: after a crash path is complete or absent. The warning is that of
// [Merge].
func (g GGUF) Write(kind modelfile.Kind, path string) (f *modelfile.File, warning, err error) {
	return g.write(disk.OS(), kind, path)
}

func (g GGUF) write(to disk.FS, kind modelfile.Kind, path string) (f *modelfile.File, warning, err error) {
	k, warning := kernel.Best(kernel.Native())
	var peft *model.PEFT
	if g.Adapter != nil {
		peft = &g.Adapter.peft
	}
	m, err := merge.Open(g.Base, peft, k)
	if err != nil {
		return nil, warning, err
	}
	defer m.Close()
	ends, err := FolderEnds(g.Base)
	if err == nil {
		f, err = modelfile.Model{Name: g.Name, Shape: ggufShape(m.Config), Weights: m, Dir: g.Base, Ends: ends,
			Template: g.Template}.Plan(kind)
	}
	if err == nil {
		err = saveGGUF(to, f, path)
	}
	return f, warning, err
}

// WriteAdapter writes the adapter alone, for llama.cpp, which loads it beside its base model. See Write.
func (g GGUF) WriteAdapter(path string) (*modelfile.File, error) {
	if g.Adapter == nil {
		return nil, fmt.Errorf("engine: %s has no adapter: its weights were trained whole; write the model", g.Base)
	}
	c, err := model.LoadConfig(g.Base)
	if err != nil {
		return nil, err
	}
	pairs, err := g.Adapter.peft.Pairs(g.Base, c)
	if err != nil {
		return nil, err
	}
	out := modelfile.Adapter{Name: g.Name, Shape: ggufShape(c), Rank: g.Adapter.Rank,
		Alpha: g.Adapter.Alpha, Factors: map[string]modelfile.Factor{}}
	for at, p := range pairs {
		if len(p) > 1 {
			return nil, fmt.Errorf("engine: the adapter has several additions to %s, and llama.cpp takes one; write "+
				"the merged model instead, with --gguf bf16", at)
		}
		out.Factors[at] = modelfile.Factor{A: p[0].A, B: p[0].B}
	}
	f, err := out.Plan()
	if err != nil {
		return nil, err
	}
	return f, saveGGUF(disk.OS(), f, path)
}

// ggufShape is a configuration as GGUF has it.
func ggufShape(c model.Config) modelfile.Shape {
	s := modelfile.Shape{Family: c.Arch.Type, Vocab: c.Vocab, Dim: c.Dim, Layers: c.Layers, Heads: c.Heads,
		KVHeads: c.KVHeads, HeadDim: c.HeadDim, FF: c.FF, Context: c.MaxPos, Eps: c.Eps, Theta: c.RoPE.Theta,
		Linear: c.RoPE.Linear, Tied: c.Tied}
	if l := c.RoPE.Llama3; l != nil {
		s.Llama3 = &modelfile.Llama3{Factor: l.Factor, Low: l.LowFactor, High: l.HighFactor, Original: l.OriginalMax}
	}
	if c.Arch.Gemma {
		local := c.LocalRoPE
		s.Gemma = &modelfile.Gemma{Window: c.Window, Sliding: c.Sliding, LocalTheta: local.Theta, Query: c.QueryScalar,
			LocalScaled: local.Llama3 != nil || local.Linear != 0 && local.Linear != 1}
	}
	if c.Arch.Scaled {
		s.Granite = &modelfile.Granite{Embedding: float64(c.EmbedScale), Residual: float64(c.ResidualScale),
			Scores: 1 / math.Sqrt(c.QueryScalar)}
		if c.LogitScale > 0 {
			s.Granite.Logits = 1 / float64(c.LogitScale)
		}
	}
	if c.Arch.Sinks {
		s.Window = c.Window
		if y := c.RoPE.YaRN; y != nil {
			s.YaRN = &modelfile.YaRN{Factor: y.Factor, Original: y.OriginalMax, Fast: y.Fast, Slow: y.Slow}
		}
	}
	s.Experts, s.ExpertsUsed, s.ExpertFF = c.Experts.Experts, c.Experts.Used, c.ExpertFF
	if s.Recurrent = c.Linear; c.Arch.Delta {
		d := c.Delta
		s.Rotated, s.Taps = c.RoPE.Dim, d.Taps
		s.Delta = modelfile.Delta{Keys: d.Keys, Values: d.Values, KeyDim: d.KeyDim, ValueDim: d.ValueDim}
	} else {
		s.Taps = c.Conv.Taps
	}
	s.Still, s.Beyond = c.Unrotated != nil && !slices.Contains(c.Unrotated, false), beyondGGUF(c)
	return s
}

// beyondGGUF names what a GGUF file of a model's family cannot say.
func beyondGGUF(c model.Config) string {
	switch {
	case c.Arch.Sinks:
		return beyondSinks(c)
	case c.RoPE.YaRN != nil:
		return "rope_type yarn"
	case c.Sliding != nil && !c.Arch.Gemma:
		return fmt.Sprintf("sliding_window = %d", c.Window)
	case c.Arch.Type == "smollm3" && !everyFourth(c.Unrotated, c.Layers): // llama.cpp takes it for granted
		return fmt.Sprintf("no_rope_layers that are not every fourth (%v)", c.Unrotated)
	case slices.Contains(c.Sparse, false):
		return "layers without experts (decoder_sparse_step, mlp_only_layers) beside others"
	case c.Sparse != nil && !c.Experts.Normed: // llama.cpp norms the weights
		return "norm_topk_prob = false"
	case c.Arch.Scaled && slices.Contains(c.Unrotated, true) && slices.Contains(c.Unrotated, false):
		return "rotation in some layers alone"
	}
	return ""
}

// beyondSinks is beyondGGUF for gpt-oss: llama.cpp takes for granted how its layers alternate, how its experts are
// clamped, and the factor of cosines.
func beyondSinks(c model.Config) string {
	alternate := len(c.Sliding) == c.Layers
	for l, slides := range c.Sliding {
		alternate = alternate && slides == (l%2 == 0)
	}
	y := c.RoPE.YaRN
	switch {
	case !alternate:
		return fmt.Sprintf("layer_types that do not alternate (%v)", c.Sliding)
	case c.Clamp.Limit != 7 || c.Clamp.Alpha != 1.702:
		return fmt.Sprintf("swiglu_limit = %v, swiglu_alpha = %v", c.Clamp.Limit, c.Clamp.Alpha)
	case c.RoPE.Linear != 0 || c.RoPE.Llama3 != nil || y == nil && c.RoPE.Scale != 0:
		return "this scaling of RoPE"
	case y != nil && (y.Whole || c.RoPE.Scale != y.Attention(1)):
		return "truncate or attention_factor of rope_type yarn"
	}
	return ""
}

// everyFourth reports whether of each four layers the last alone is in the list.
func everyFourth(list []bool, layers int) bool {
	for l := range layers {
		if (list != nil && list[l]) != (l%4 == 3) {
			return false
		}
	}
	return true
}

// saveGGUF writes a planned file under a temporary name, reads it back, and gives it its name.
func saveGGUF(to disk.FS, f *modelfile.File, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("engine: %s exists already; remove it or choose another file", path)
	}
	if err := disk.MkdirAll(to, filepath.Dir(path)); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	tmp := path + ".tmp"
	err := encodeGGUF(to, f, tmp)
	if err == nil {
		err = checkGGUF(f, tmp)
	}
	if err == nil {
		err = to.Rename(tmp, path)
	}
	if err != nil {
		err = errors.Join(err, to.Remove(tmp))
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			return fmt.Errorf("engine: the disk of %s is full and nothing was written; the file needs %d MB, free "+
				"some space or choose another folder: %w", path, f.Size()>>20+1, err)
		}
		return fmt.Errorf("engine: writing %s: %w", path, err)
	}
	return to.SyncDir(filepath.Dir(path))
}

func encodeGGUF(to disk.FS, f *modelfile.File, path string) error {
	file, err := to.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	err = f.Encode(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

func checkGGUF(f *modelfile.File, path string) error {
	g, err := gguf.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Check(g), g.Close())
}
