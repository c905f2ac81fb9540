package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// The files of a checkpoint. An adapter is in PEFT's format. Full parameters are a Hugging Face folder in the model's
// dtype; a state also has the f32 values that the optimizer updates.
const (
	manifestFile  = "trinity.json"
	AdapterFile   = model.PEFTWeightsFile
	AdapterConfig = model.PEFTConfigFile
	WeightsFile   = "model.safetensors"
	MasterFile    = "master.safetensors"
	OptimizerFile = "optimizer.safetensors"
)

// File is one file of a checkpoint, by its path below the checkpoint's folder, with slashes, and what writes it.
type File struct {
	name  string
	write func(io.Writer) error
}

// CopiedFiles are the files of the base model that complete the model folder.
func CopiedFiles(dir string) ([]File, error) {
	var files []File
	for _, name := range model.FolderFiles(dir, true) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		if name == "config.json" { // the weights are those of the text alone
			if raw, err = model.TextConfig(raw); err != nil {
				return nil, fmt.Errorf("engine: %s: %w", filepath.Join(dir, name), err)
			}
		}
		files = append(files, File{name, func(w io.Writer) error { return CopyAll(w, raw) }})
	}
	return files, nil
}

func CopyAll(w io.Writer, raw []byte) error {
	_, err := io.Copy(w, bytes.NewReader(raw))
	return err
}

func JSONFile(name string, v any) File {
	return File{name, func(w io.Writer) error {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		return CopyAll(w, append(raw, '\n'))
	}}
}

func TensorFile(name string, tensors []model.Tensor, bf16 bool) File {
	return File{name, func(w io.Writer) error { return WriteTensors(w, tensors, bf16) }}
}
