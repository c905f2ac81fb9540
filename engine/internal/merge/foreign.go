package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// Other programs read an adapter on the head of a tied model in different ways. Python's peft adds it to lm_head, as
// this program does. tinker-cookbook's merge (weights.build_hf_model) uses the tensor names of the base model's files,
// which have no lm_head; it expects the addition under Tinker's own name of the head, unembed_tokens, and ignores
// everything that is not a LoRA. So such an adapter is exported with the addition under that name for tinker-cookbook,
// and with the whole head as a saved module for peft.
//
// Peft loads a model whose text has others around it as the whole, and expects the names of the whole in its adapter.
// They have one more part than the names of the text alone.

// noModules is the target_modules with which peft accepts an adapter without modules.
const noModules = "dummy-target-modules"

// ForeignPEFT is an adapter in the form that other programs load. The caller must close it.
type ForeignPEFT struct {
	Config []byte                // adapter_config.json
	Size   int64                 // bytes of adapter_model.safetensors
	Write  func(io.Writer) error // writes it
	files  *model.Files
}

// Close closes the base model's files.
func (t *ForeignPEFT) Close() error { return t.files.Close() }

// Foreign returns the adapter in the form that other programs load, for the model in folder base. It is nil if that is
// the form it has: the adapter is not on the head of a tied model, and no other models are around the text.
func Foreign(a model.PEFT, base string) (*ForeignPEFT, error) {
	c, err := model.LoadConfig(base)
	head := c.Tied && slices.Contains(a.LoRA.Targets(), "lm_head")
	if err != nil || !head && !c.Wrapped {
		return nil, err
	}
	a.Tensors = slices.Clone(a.Tensors)
	a.Fill(c)
	out := &ForeignPEFT{}
	if out.files, err = model.OpenFiles(base); err != nil {
		return nil, err
	}
	var parts []safetensors.Part
	if head {
		parts, err = out.head(a, base, c)
	}
	if err == nil {
		err = out.fill(a, c, head, parts)
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// head is the whole head with its addition.
func (t *ForeignPEFT) head(a model.PEFT, base string, c model.Config) ([]safetensors.Part, error) {
	pairs, err := a.Pairs(base, c)
	if err != nil {
		return nil, err
	}
	embed, ok := t.files.Tensor(model.EmbedName)
	if !ok {
		return nil, fmt.Errorf("model: the weights have no %s: %w", model.EmbedName, fs.ErrNotExist)
	}
	p := pairs["lm_head"][0]
	whole := func(w io.Writer) error {
		return writeHead(w, embed, p.A, p.B, p.Scale)
	}
	return []safetensors.Part{{Name: model.PEFTPrefix + model.HeadName, DType: safetensors.F32, Shape: embed.Shape,
		Write: whole}}, nil
}

func (t *ForeignPEFT) fill(a model.PEFT, c model.Config, head bool, parts []safetensors.Part) (err error) {
	const at = model.PEFTPrefix + "lm_head."
	for _, x := range a.Tensors {
		name := c.PEFTName(x.Name)
		if head {
			name = strings.Replace(name, at, model.PEFTPrefix+model.UnembedName+".", 1)
		}
		parts = append(
			parts,
			safetensors.Part{Name: name, DType: safetensors.F32, Shape: x.Shape, Write: func(w io.Writer) error {
				_, err := w.Write(safetensors.FromF32(x.Name, x.Shape, x.Data).Data)
				return err
			}},
		)
	}
	if t.Size, t.Write, err = safetensors.Stream(parts, map[string]string{"format": "pt"}); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	c.Frozen = a.Frozen
	config := a.LoRA.PEFTConfig(a.Base, c)
	if head {
		targets := slices.DeleteFunc(config["target_modules"].([]string), func(m string) bool { return m == "lm_head" })
		config["target_modules"], config["modules_to_save"] = any(targets), []string{"lm_head"}
		if len(targets) == 0 {
			config["target_modules"] = noModules
		}
	}
	t.Config, err = json.MarshalIndent(config, "", "  ")
	return err
}

// tiedRows is the number of rows of the head in memory at a time.
const tiedRows = 64

// writeHead writes embed + scale·B·A in f32: A is [R,K], B [V,R], embed [V,K].
func writeHead(w io.Writer, embed safetensors.Tensor, A, B []float32, scale float32) error {
	V, K := embed.Shape[0], embed.Shape[1]
	R, row := len(A)/K, K*embed.DType.Size()
	for v := 0; v < V; v += tiedRows {
		n := min(tiedRows, V-v)
		some := safetensors.Tensor{
			Name:  embed.Name,
			DType: embed.DType,
			Shape: []int{n, K},
			Data:  embed.Data[v*row : (v+n)*row],
		}
		head, err := some.Floats()
		if err != nil {
			return err
		}
		head = slices.Clone(head) // it may be part of the mapped file
		for i := range n {
			out := head[i*K : (i+1)*K]
			for r := range R {
				b := float32(scale * B[(v+i)*R+r])
				for k, x := range A[r*K : (r+1)*K] {
					out[k] += float32(b * x)
				}
			}
		}
		if _, err := w.Write(safetensors.FromF32("", []int{n, K}, head).Data); err != nil {
			return err
		}
	}
	return nil
}
