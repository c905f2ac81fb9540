package engine

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
	adapterFile   = model.PEFTWeightsFile
	adapterConfig = model.PEFTConfigFile
	weightsFile   = "model.safetensors"
	masterFile    = "master.safetensors"
	optimizerFile = "optimizer.safetensors"
)

// file is one file of a checkpoint, by its path below the checkpoint's folder, with slashes, and what writes it.
type file struct {
	name  string
	write func(io.Writer) error
}

// copiedFiles are the files of the base model that complete the model folder.
func copiedFiles(dir string) ([]file, error) {
	var files []file
	for _, name := range model.FolderFiles(dir, true) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("engine: %w", err)
		}
		files = append(files, file{name, func(w io.Writer) error { return copyAll(w, raw) }})
	}
	return files, nil
}

func copyAll(w io.Writer, raw []byte) error {
	_, err := io.Copy(w, bytes.NewReader(raw))
	return err
}

func jsonFile(name string, v any) file {
	return file{name, func(w io.Writer) error {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return err
		}
		return copyAll(w, append(raw, '\n'))
	}}
}

func tensorFile(name string, tensors []model.Tensor, bf16 bool) file {
	return file{name, func(w io.Writer) error { return writeTensors(w, tensors, bf16) }}
}
