// Package merge writes models with an adapter in their weights, and adapters in the form that other programs load.
package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Write writes the model of folder base with the adapter's additions in its weights to the new folder out: an ordinary
// Hugging Face folder with the base's shards and dtypes. If the adapter is on the head of a tied model, the result has
// a head of its own. A template that is not empty replaces the base's chat template. One tensor is in memory at a time.
// out is complete or absent.
func Write(base string, a model.PEFT, out, template string, to disk.FS, on nn.Compute) error {
	c, err := model.LoadConfig(base)
	if err != nil {
		return err
	}
	m := &merger{on: on, to: to, out: out + "~new", template: template,
		untie: c.Tied && slices.Contains(a.LoRA.Targets(), "lm_head")}
	if m.pairs, err = a.Pairs(base, c); err != nil {
		return err
	}
	for name := range m.pairs {
		m.wide = m.wide || c.Arch.Sinks && strings.Contains(name, ".experts.")
	}
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("model: %s exists already; choose another folder or remove it", out)
	}
	if err := errors.Join(to.RemoveAll(m.out), to.MkdirAll(m.out)); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	err = m.write(base)
	if err == nil {
		err = errors.Join(to.SyncDir(m.out), to.RemoveAll(out)) // an empty folder at most
	}
	if err == nil {
		err = to.Rename(m.out, out)
	}
	if err != nil {
		return fmt.Errorf("model: merging into %s: %w", out, errors.Join(err, to.RemoveAll(m.out)))
	}
	return to.SyncDir(filepath.Dir(out))
}

// merger is one Write.
type merger struct {
	on    nn.Compute
	to    disk.FS
	pairs map[string][]model.Pair // of the adapter, by matrix
	out   string
	untie bool // the head is made from the embedding
	files *model.Files
	wide  bool // experts in MXFP4 become bf16

	template string // in place of the base's; "": the base's
}

func (m *merger) write(base string) error {
	files, err := model.OpenFiles(base)
	if err != nil {
		return err
	}
	m.files = files
	index, total := map[string]string{}, 0
	for _, f := range files.Shards {
		name := filepath.Base(f.Path())
		tensors := m.tensors(f)
		for _, t := range tensors {
			index[t.Name] = name
			total += bytesOf(t)
		}
		if err == nil {
			err = disk.Replace(m.to, filepath.Join(m.out, name), func(w io.Writer) error {
				return safetensors.EncodeEach(w, tensors, map[string]string{"format": "pt"},
					func(t safetensors.Tensor) ([]byte, error) { return m.merged(f, t) })
			})
		}
	}
	shards := files.Shards
	if err == nil && (len(shards) > 1 || shards[0].Path() != filepath.Join(base, model.SingleFile)) {
		err = m.writeJSON(model.IndexFile, map[string]any{"metadata": map[string]any{"total_size": total},
			"weight_map": index})
	}
	return errors.Join(err, files.Close(), m.copyFiles(base))
}

// tensors returns the tensors of one shard of the result, with the bytes of the base.
func (m *merger) tensors(f *safetensors.File) []safetensors.Tensor {
	list := slices.Clone(f.Tensors())
	if m.wide {
		list = model.Dequantised(list)
	}
	if !m.untie {
		return list
	}
	is := func(t safetensors.Tensor, name string) bool {
		text, ok := model.TextName(t.Name)
		return ok && text == name
	}
	// a copy that was not in use
	list = slices.DeleteFunc(list, func(t safetensors.Tensor) bool { return is(t, model.HeadName) })
	if i := slices.IndexFunc(list, func(t safetensors.Tensor) bool { return is(t, model.EmbedName) }); i >= 0 {
		head := list[i]
		head.Name = model.BesideEmbedding(head.Name)
		list = append(list, head)
	}
	return list
}

// bytesOf is the length of a tensor's data, which it may not have.
func bytesOf(t safetensors.Tensor) int {
	n := t.DType.Size()
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// partRows is the number of rows that one part of the work adds to.
const partRows = 64

// merged returns the bytes of a tensor with its addition: W + Scale·B·A, in float32, rounded to W's type.
func (m *merger) merged(f *safetensors.File, t safetensors.Tensor) ([]byte, error) {
	name, text := model.TextName(t.Name)
	if m.wide {
		if stacked, err := m.stacked(f, t); stacked != nil || err != nil {
			return stacked, err
		}
	}
	pairs, ok := m.pairs[strings.TrimSuffix(name, ".weight")]
	if !ok || !text {
		return t.Data, nil
	}
	w, err := m.sum(f, t, pairs)
	if err != nil {
		return nil, err
	}
	sum, err := safetensors.FromFloats(t.Name, t.DType, t.Shape, w)
	return sum.Data, err
}

// sum returns a matrix with its additions, in float32.
func (m *merger) sum(f *safetensors.File, t safetensors.Tensor, pairs []model.Pair) ([]float32, error) {
	w, err := t.Floats()
	if err != nil {
		return nil, err
	}
	f.Release()
	K := t.Shape[1]
	m.on.P.Run((t.Shape[0]+partRows-1)/partRows, func(part int, _ *kernel.Scratch) {
		first, end := part*partRows, min((part+1)*partRows, t.Shape[0])
		for _, p := range pairs {
			add(m.on.K, p, w[first*K:end*K], first, K)
		}
	})
	return w, nil
}

// stacked is merged for a tensor [E,in,out] of matrices of all experts, whose columns take turns; nil for others.
func (m *merger) stacked(f *safetensors.File, t safetensors.Tensor) ([]byte, error) {
	parts := m.files.Unstacked(t.Name)
	if len(parts) == 0 || len(parts)%t.Shape[0] != 0 {
		return nil, nil
	}
	in, out, size, turns := t.Shape[1], t.Shape[2], t.DType.Size(), len(parts)/t.Shape[0]
	all := make([]byte, t.Shape[0]*in*out*size)
	for i, name := range parts {
		part, _ := m.files.Tensor(name)
		w, err := m.sum(f, part, m.pairs[strings.TrimSuffix(name, ".weight")])
		if err != nil {
			return nil, err
		}
		sum, err := safetensors.FromFloats(name, t.DType, part.Shape, w)
		if err != nil {
			return nil, err
		}
		for j := range len(w) {
			row, column := i/turns*in+j%in, j/in*turns+i%turns
			copy(all[(row*out+column)*size:], sum.Data[j*size:][:size])
		}
	}
	return all, nil
}

// copyFiles copies the files of a model folder besides its weights.
func (m *merger) copyFiles(base string) error {
	for _, name := range model.FolderFiles(base, m.template == "") {
		data, err := m.file(base, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && filepath.Dir(name) != "." {
			err = m.to.MkdirAll(filepath.Join(m.out, filepath.Dir(name)))
		}
		if err == nil {
			err = disk.WriteFile(m.to, filepath.Join(m.out, name), data)
		}
		if err != nil {
			return err
		}
	}
	if m.template == "" {
		return nil
	}
	return disk.WriteFile(m.to, filepath.Join(m.out, model.TemplateFile), []byte(m.template))
}

// file is the contents of a file of a model folder besides its weights, as the result has it.
func (m *merger) file(base, name string) ([]byte, error) {
	if name != "config.json" {
		return disk.ReadFile(filepath.Join(base, name), disk.BigFile)
	}
	data, err := model.FolderConfig(base)
	if err == nil && m.untie {
		data, err = model.Untied(data)
	}
	if err == nil && m.wide {
		data, err = model.Without(data, "quantization_config")
	}
	return data, err
}

func (m *merger) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(m.to, filepath.Join(m.out, name), append(data, '\n'))
}
