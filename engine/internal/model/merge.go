package model

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
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// TemplateFile is the chat template of a model folder. It wins over those in tokenizer_config.json.
const TemplateFile = "chat_template.jinja"

// FolderFiles lists the files of the model folder dir besides its weights: paths below it, with slashes. Some of them
// may be missing. The chat templates that have files are left out if they are not wanted.
func FolderFiles(dir string, templates bool) []string {
	list := []string{"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
		"tokenizer.model", "special_tokens_map.json", "vocab.json", "merges.txt", "added_tokens.json"}
	if !templates {
		return list
	}
	named, _ := tokenizer.TemplateFiles(dir) // a folder that cannot be read has none
	return append(append(list, named...), TemplateFile, "chat_template.json")
}

// Merge writes the model of folder base with the adapter's additions in its weights to the new folder out: an ordinary
// Hugging Face folder with the base's shards and dtypes. If the adapter is on the head of a tied model, the result has
// a head of its own. A template that is not empty replaces the base's chat template. One tensor is in memory at a time.
// out is complete or absent.
func Merge(base string, a PEFT, out, template string, to disk.FS, on nn.Compute) error {
	c, err := LoadConfig(base)
	if err != nil {
		return err
	}
	m := &merger{on: on, to: to, lora: a.LoRA, out: out + "~new", template: template,
		untie: c.Tied && slices.Contains(a.LoRA.Targets(), "lm_head")}
	a.Fill(c)
	if m.deltas, err = match(a.LoRA.specs(c), a.Tensors); err != nil {
		return fmt.Errorf("model: the adapter does not fit %s: %w", base, err)
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

// merger is one Merge.
type merger struct {
	on     nn.Compute
	to     disk.FS
	lora   LoRA
	deltas map[string][]float32 // of the adapter, by name
	out    string
	untie  bool // the head is made from the embedding

	template string // in place of the base's; "": the base's
}

func (m *merger) write(base string) error {
	shards, err := openShards(base)
	if err != nil {
		return err
	}
	index, total := map[string]string{}, 0
	for _, f := range shards {
		name := filepath.Base(f.Path())
		tensors := m.tensors(f)
		for _, t := range tensors {
			index[t.Name] = name
			total += len(t.Data)
		}
		if err == nil {
			err = disk.Replace(m.to, filepath.Join(m.out, name), func(w io.Writer) error {
				return safetensors.EncodeEach(w, tensors, map[string]string{"format": "pt"},
					func(t safetensors.Tensor) ([]byte, error) { return m.merged(f, t) })
			})
		}
	}
	for _, f := range shards {
		err = errors.Join(err, f.Close())
	}
	if err == nil && (len(shards) > 1 || shards[0].Path() != filepath.Join(base, singleFile)) {
		err = m.writeJSON(indexFile, map[string]any{"metadata": map[string]any{"total_size": total},
			"weight_map": index})
	}
	return errors.Join(err, m.copyFiles(base))
}

// tensors returns the tensors of one shard of the result, with the bytes of the base.
func (m *merger) tensors(f *safetensors.File) []safetensors.Tensor {
	list := slices.Clone(f.Tensors())
	if !m.untie {
		return list
	}
	// a copy that was not in use
	list = slices.DeleteFunc(list, func(t safetensors.Tensor) bool { return t.Name == headName })
	if t, err := f.Tensor(embedName); err == nil {
		t.Name = headName
		list = append(list, t)
	}
	return list
}

// merged returns the bytes of a tensor with its addition: W + B·A·Alpha/Rank, in float32, rounded to W's type.
func (m *merger) merged(f *safetensors.File, t safetensors.Tensor) ([]byte, error) {
	at := prefix + strings.TrimSuffix(t.Name, ".weight")
	A, B := m.deltas[at+".lora_A.weight"], m.deltas[at+".lora_B.weight"]
	if A == nil {
		return t.Data, nil
	}
	w, err := t.Floats()
	if err != nil {
		return nil, err
	}
	f.Release()
	K := t.Shape[1]
	m.on.P.Run((t.Shape[0]+packRows-1)/packRows, func(part int, _ *kernel.Scratch) {
		first, end := part*packRows, min((part+1)*packRows, t.Shape[0])
		m.lora.add(m.on.K, w[first*K:end*K], A, B[first*m.lora.Rank:], K)
	})
	sum, err := safetensors.FromFloats(t.Name, t.DType, t.Shape, w)
	return sum.Data, err
}

// copyFiles copies the files of a model folder besides its weights.
func (m *merger) copyFiles(base string) error {
	for _, name := range FolderFiles(base, m.template == "") {
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
	return disk.WriteFile(m.to, filepath.Join(m.out, TemplateFile), []byte(m.template))
}

// file is the contents of a file of a model folder besides its weights, as the result has it.
func (m *merger) file(base, name string) ([]byte, error) {
	if name != "config.json" {
		return disk.ReadFile(filepath.Join(base, name), disk.BigFile)
	}
	data, err := FolderConfig(base)
	if err == nil && m.untie {
		data, err = untied(data)
	}
	return data, err
}

// untied returns config.json with tie_word_embeddings off.
func untied(config []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	all["tie_word_embeddings"] = json.RawMessage("false")
	return json.MarshalIndent(all, "", "  ")
}

func (m *merger) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(m.to, filepath.Join(m.out, name), append(data, '\n'))
}
