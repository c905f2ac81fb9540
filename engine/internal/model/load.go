package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

const (
	SingleFile = "model.safetensors"
	IndexFile  = "model.safetensors.index.json"
)

// Load reads config.json and the weights of a Hugging Face folder: model.safetensors, or the shards that
// model.safetensors.index.json names. Weights that are all bf16 are computed in bf16, anything else in float32. Errors
// name the file and the tensor.
func Load(dir string, on nn.Compute) (*Weights, error) { return LoadAs(dir, "", on) }

// LoadAs is Load, or with a dtype of frozen matrices, Int8 or Int4, turns them into it as they are read.
func LoadAs(dir, frozen string, on nn.Compute) (*Weights, error) {
	c, err := LoadConfig(dir)
	if err != nil {
		return nil, err
	}
	f, err := OpenFiles(dir)
	if err != nil {
		return nil, err
	}
	c.Frozen = frozen
	w, err := f.load(c, on)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return w, nil
}

// WeightFiles returns the names of the files that hold a folder's weights, with the index of shards.
func WeightFiles(dir string) ([]string, error) {
	names, err := shardNames(dir)
	if err == nil && exists(filepath.Join(dir, IndexFile)) {
		names = append(names, IndexFile)
	}
	return names, err
}

// shardNames returns the files that hold a folder's weights, sorted.
func shardNames(dir string) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, SingleFile)); err == nil {
		return []string{SingleFile}, nil
	}
	path := filepath.Join(dir, IndexFile)
	data, err := disk.ReadFile(path, disk.BigFile)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if old, err := disk.Glob(dir, "*.bin"); err == nil && len(old) > 0 {
			hint = fmt.Sprintf("; %s is an older format, save the model again with safe_serialization",
				filepath.Base(old[0]))
		}
		return nil, fmt.Errorf("model: %s has neither %s nor %s: a model folder needs its weights%s", dir, SingleFile,
			IndexFile, hint)
	}
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	var index struct {
		WeightMap map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("model: %s: %w", path, err)
	}
	var names []string
	for _, n := range index.WeightMap {
		if !filepath.IsLocal(n) {
			return nil, fmt.Errorf("model: %s names %q, which is outside the folder", path, n)
		}
		names = append(names, n)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("model: %s names no files", path)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// CheckWeights returns the error with which [Load] would refuse the weights of the model folder dir. It reads only the
// headers of the files.
func CheckWeights(dir string, c Config) error {
	f, err := OpenFiles(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Check(c), f.Close())
}

// load checks all tensors the model needs and packs them.
func (f *Files) load(c Config, on nn.Compute) (*Weights, error) {
	if err := f.Check(c); err != nil {
		return nil, err
	}
	c.BF16 = c.Frozen != "" || f.allBF16(c)
	c.MXFP4 = c.MXFP4 && f.tensors.mxfp4(c)
	memory, err := c.Reserve()
	if err != nil {
		return nil, err
	}
	return pack(memory, c, f.tensors, on), nil
}

// StoredBF16 reports whether all weights of the model folder dir are bf16, so that [Load] computes in bf16, whatever
// config.json says. It reads only the headers of the files.
func StoredBF16(dir string, c Config) (bool, error) {
	f, err := OpenFiles(dir)
	if err != nil {
		return false, err
	}
	return f.allBF16(c), f.Close()
}

// ownHead reports whether the files of the model folder dir hold a head with other values than the embedding. Such a
// model is not tied, whatever config.json says: transformers 5 takes the stored head. It is false without weights that
// can be read.
func ownHead(dir string) (own bool, err error) {
	f, err := OpenFiles(dir)
	if err != nil {
		return false, nil
	}
	head, there := f.Tensor(HeadName)
	if embed, tied := f.Tensor(EmbedName); there && tied {
		own, err = differ(head, embed)
	}
	return own, errors.Join(err, f.Close())
}

// differ reports whether two tensors have different values.
func differ(a, b safetensors.Tensor) (bool, error) {
	if a.DType == b.DType || !slices.Equal(a.Shape, b.Shape) {
		return !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data), nil
	}
	x, err := a.Floats()
	y, err2 := b.Floats()
	return !slices.Equal(x, y), errors.Join(err, err2)
}

// FolderConfig returns config.json for a copy of the model folder dir: the folder's own, with tie_word_embeddings off
// if the head has values of its own, so that every release of transformers takes them.
func FolderConfig(dir string) ([]byte, error) {
	data, err := disk.ReadFile(filepath.Join(dir, "config.json"), disk.SmallFile)
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(data)
	if err != nil || !c.Tied { // a model of another family is copied as it is
		return data, nil
	}
	if own, err := ownHead(dir); err != nil || !own {
		return data, err
	}
	return Untied(data)
}

// Without returns config.json without a key.
func Without(config []byte, key string) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	delete(all, key)
	return json.MarshalIndent(all, "", "  ")
}

// Untied returns config.json with tie_word_embeddings off.
func Untied(config []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	const key = "tie_word_embeddings"
	all[key] = json.RawMessage("false")
	if older := "tie_embedding"; all[older] != nil { // of LFM2, where it wins
		all[older] = all[key]
	}
	var text map[string]json.RawMessage
	if json.Unmarshal(all["text_config"], &text) == nil && text[key] != nil {
		text[key] = all[key]
		inner, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		all["text_config"] = inner
	}
	return json.MarshalIndent(all, "", "  ")
}
