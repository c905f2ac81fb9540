// Package modelname finds the folder of a model by the names that people have for it:
//
//	path/to/folder              a Hugging Face folder, or a folder with one GGUF model
//	path/to/model.gguf          a GGUF file, or the first of several: model-00001-of-00003.gguf
//	owner/name                  a model on the Hugging Face hub, or name@revision
//	hf.co/owner/name:Q4_K_M     a GGUF file on the hub
//	ollama:name:tag             a model in Ollama's store on this machine
//
// A GGUF file is turned into a Hugging Face folder in a cache, once.
package modelname

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/hub"
)

// Finder finds models.
type Finder struct {
	Find   func(path string) string // turns a path into where the file is
	Hub    *hub.Hub                 // nil: only local files
	Cache  string                   // for the folders made of GGUF files; "": none can be made
	Ollama []string                 // where Ollama's store may be, in the order they are searched
	Note   func(text string)        // told what takes long or was left out; nil: nobody
}

// Model is a model that was found.
type Model struct {
	Dir  string // its Hugging Face folder
	File string // the GGUF file that the folder was made of; "" if there is none
	Name string // of the GGUF file without .gguf, or Ollama's name with a hyphen for the colon; "" without a GGUF file
}

// Folder returns the folder of a model.
func (f Finder) Folder(ctx context.Context, name string) (string, error) {
	m, err := f.Model(ctx, name)
	return m.Dir, err
}

// Model finds a model. A file or folder of that name comes first.
func (f Finder) Model(ctx context.Context, name string) (Model, error) {
	path := f.Find(name)
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return f.folder(ctx, path)
	case err == nil && isGGUF(path):
		return f.file(ctx, path)
	case strings.HasPrefix(name, ollamaPrefix):
		return f.ollama(ctx, name)
	case isHubFile(name):
		return f.hubFile(ctx, name)
	case f.Hub == nil || !hub.IsName(name):
		return Model{}, fmt.Errorf("modelname: model %q is not a folder or GGUF file here; a model is a Hugging Face "+
			"folder with config.json, tokenizer.json and safetensors files, a GGUF file, a name on the hub such as "+
			"meta-llama/Llama-3.2-3B, a GGUF file there such as hf.co/owner/name:Q4_K_M, or ollama:name", name)
	}
	dir, err := f.Hub.Model(ctx, name)
	return Model{Dir: dir}, err
}

// OnHub reports whether a name means something on the hub, so that it may have to be downloaded first.
func OnHub(name string) bool { return hub.IsName(name) || isHubFile(name) }

// MadeOfGGUF reports whether a name can only mean a GGUF model: a file's name, or one on the hub or in Ollama's store.
func MadeOfGGUF(name string) bool {
	return isGGUF(name) || isHubFile(name) || strings.HasPrefix(name, ollamaPrefix)
}

func (f Finder) note(format string, args ...any) {
	if f.Note != nil {
		f.Note(fmt.Sprintf(format, args...))
	}
}
