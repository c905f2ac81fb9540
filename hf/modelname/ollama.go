package modelname

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Ollama keeps a model as a manifest, ROOT/manifests/HOST/NAMESPACE/MODEL/TAG, which lists layers, and a blob for each,
// ROOT/blobs/sha256-HEX (manifest/paths.go and manifest.go of Ollama fb307609). The store is read and never written.

// ollama finds a model in Ollama's store.
func (f Finder) ollama(ctx context.Context, name string) (Model, error) {
	n, err := parseOllama(name)
	if err != nil {
		return Model{}, err
	}
	root, manifest, err := f.manifest(n)
	if err != nil {
		return Model{}, err
	}
	l, err := manifest.weights()
	if err != nil {
		return Model{}, fmt.Errorf("modelname: Ollama's model %v: %w", n, err)
	}
	path, err := l.blob(root)
	if err != nil {
		return Model{}, fmt.Errorf("modelname: Ollama's model %v: %w", n, err)
	}
	for _, other := range manifest.Layers {
		if other.kind() == "projector" || other.kind() == "draft" {
			f.note("Ollama's model %v has a %s beside its weights, which is not used", n, other.kind())
		}
	}
	m := Model{File: path, Name: n.model + "-" + n.tag}
	m.Dir, err = f.made(ctx, path, m.Name)
	return m, err
}

// ollamaManifest is a manifest as far as it is read.
type ollamaManifest struct {
	Layers []ollamaLayer `json:"layers"`
}

type ollamaLayer struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
}

// kind is the last word of the media type: model, adapter, projector, template …
func (l ollamaLayer) kind() string {
	return strings.TrimPrefix(l.MediaType, "application/vnd.ollama.image.")
}

// manifest reads the manifest of a name in the first store that has it.
func (f Finder) manifest(n ollamaName) (root string, m ollamaManifest, err error) {
	var denied error
	for _, root := range f.Ollama {
		path, err := findFold(filepath.Join(root, "manifests"), n.parts())
		if err == nil {
			var data []byte
			if data, err = disk.ReadFile(path, disk.SmallFile); err == nil {
				if err = json.Unmarshal(data, &m); err != nil {
					err = fmt.Errorf("modelname: the manifest %s is damaged: %w; run ollama pull %v", path, err, n)
				}
				return root, m, err
			}
		}
		switch {
		case errors.Is(err, fs.ErrPermission):
			denied = errors.Join(denied, fmt.Errorf("modelname: Ollama's store may not be read: %w; let this user "+
				"read it, or run Ollama as this user", err))
		case !errors.Is(err, fs.ErrNotExist):
			return "", m, fmt.Errorf("modelname: Ollama's store: %w", err)
		}
	}
	if denied != nil {
		return "", m, denied
	}
	return "", m, fmt.Errorf("modelname: Ollama has no model %v on this machine (looked in %s); run ollama pull %v, "+
		"or name the store in OLLAMA_MODELS", n, strings.Join(f.Ollama, ", "), n)
}

// findFold finds a path below a folder, in any case: Ollama's names have none, and some file systems do. The exact
// name comes first.
func findFold(dir string, parts []string) (string, error) {
	if filepath.Separator == '\\' { // a colon cannot be in a file's name there
		parts = slices.Clone(parts)
		parts[0] = strings.ReplaceAll(parts[0], ":", "_")
	}
	for _, part := range parts {
		next := filepath.Join(dir, part)
		if _, err := os.Lstat(next); errors.Is(err, fs.ErrNotExist) {
			entries, bad := os.ReadDir(dir)
			at := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), part) })
			if bad != nil || at < 0 {
				return "", errors.Join(err, bad)
			}
			next = filepath.Join(dir, entries[at].Name())
		} else if err != nil {
			return "", err
		}
		dir = next
	}
	return dir, nil
}

// weights is the layer with the GGUF file.
func (m ollamaManifest) weights() (ollamaLayer, error) {
	var found []ollamaLayer
	tensors := false
	for _, l := range m.Layers {
		switch l.kind() {
		case "model":
			found = append(found, l)
		case "adapter":
			return l, errors.New("it is a model with an adapter (a layer of kind adapter), and its weights alone are " +
				"another model; name the model it is based on")
		case "tensor":
			tensors = true
		}
	}
	switch {
	case tensors:
		return ollamaLayer{}, errors.New("it is stored as safetensors and not as GGUF; name the model's Hugging Face " +
			"folder, or its name on the hub")
	case len(found) == 0:
		return ollamaLayer{}, errors.New("it has no weights on this machine, as models that run elsewhere do not")
	case len(found) > 1:
		return ollamaLayer{}, fmt.Errorf("it has %d layers of weights, and one is read; name a model with one",
			len(found))
	}
	return found[0], nil
}

// ollamaDigest matches the digest of a blob.
var ollamaDigest = regexp.MustCompile(`^sha256[:-]([0-9a-fA-F]{64})$`)

// blob is the path of a layer's file, which has the size that the manifest says.
func (l ollamaLayer) blob(root string) (string, error) {
	digest := ollamaDigest.FindStringSubmatch(l.Digest)
	if digest == nil {
		return "", fmt.Errorf("the manifest names the blob %.80q, which is not a sha256; run ollama pull again",
			l.Digest)
	}
	path := filepath.Join(root, "blobs", "sha256-"+digest[1])
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && filepath.Separator != '\\' { // the form of very old stores
		if old, bad := os.Stat(filepath.Join(root, "blobs", "sha256:"+digest[1])); bad == nil {
			path, st, err = filepath.Join(root, "blobs", "sha256:"+digest[1]), old, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%w; let this user read the store, or run Ollama as this user", err)
	case err != nil:
		return "", fmt.Errorf("%w; run ollama pull again", err)
	case st.Size() != l.Size:
		return "", fmt.Errorf("%s has %d bytes, and the manifest says %d; run ollama pull again", path, st.Size(),
			l.Size)
	}
	return path, nil
}
