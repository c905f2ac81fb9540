package modelname

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

// store is Ollama's store, made by hand in a folder.
type store struct {
	t    *testing.T
	root string
}

type layer map[string]any

// blob writes a blob and returns its layer.
func (s store) blob(kind string, content []byte) layer {
	s.t.Helper()
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	s.write(filepath.Join("blobs", "sha256-"+digest), content)
	return layer{"mediaType": "application/vnd.ollama.image." + kind, "digest": "sha256:" + digest,
		"size": len(content)}
}

// manifest writes the manifest of a name, such as library/smollm2/135m.
func (s store) manifest(path string, layers ...layer) {
	s.t.Helper()
	conf := s.blob("config", []byte(`{"model_format":"gguf","model_family":"llama"}`))
	conf["mediaType"] = "application/vnd.docker.container.image.v1+json"
	data, err := json.Marshal(map[string]any{"schemaVersion": 2,
		"mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": conf, "layers": layers})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(filepath.Join("manifests", filepath.FromSlash(path)), data)
}

func (s store) write(name string, content []byte) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// files lists a folder with sizes and times.
func files(t *testing.T, root string) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		list.WriteString(path + " " + info.Mode().String() + " " + info.ModTime().String() + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// A model is found by Ollama's names for it, in the first store that has it; the store is not written to.
func TestOllama(t *testing.T) {
	s := store{t, t.TempDir()}
	weights := s.blob("model", gguftest.Model{Arch: "llama"}.Bytes(t))
	text := s.blob("template", []byte("{{ .Prompt }}"))
	s.manifest("registry.ollama.ai/library/smollm2/135m", weights, text)
	s.manifest("registry.ollama.ai/library/smollm2/latest", weights, text)
	s.manifest("registry.ollama.ai/someone/tuned/v2", weights)
	s.manifest("hf.co/bartowski/Tiny-GGUF/Q4_K_M", weights)
	s.manifest("localhost:5000/a/b/latest", weights, s.blob("projector", []byte("p")))
	f := finder(t)
	f.Ollama = []string{filepath.Join(t.TempDir(), "none"), s.root}
	var notes []string
	f.Note = func(text string) { notes = append(notes, text) }
	before := files(t, s.root)
	for name, want := range map[string]string{
		"ollama:smollm2:135m": "smollm2-135m", "ollama:smollm2": "smollm2-latest",
		"ollama:SmolLM2:135M":     "SmolLM2-135M",
		"ollama:someone/tuned:v2": "tuned-v2", "ollama:hf.co/bartowski/Tiny-GGUF:Q4_K_M": "Tiny-GGUF-Q4_K_M",
		"ollama:registry.ollama.ai/library/smollm2": "smollm2-latest", "ollama:http://localhost:5000/a/b": "b-latest",
	} {
		got, err := f.Model(context.Background(), name)
		if err != nil || got.Name != want {
			t.Fatalf("%s is %+v, %v", name, got, err)
		}
		checkFolder(t, got.Dir)
	}
	if files(t, s.root) != before {
		t.Error("the store was written to")
	}
	if !strings.Contains(strings.Join(notes, "\n"), "b:latest has a projector beside its weights") {
		t.Errorf("notes %q", notes)
	}
}

// What cannot be used is refused: the error names the model, why, and what to do.
func TestOllamaRefused(t *testing.T) {
	s := store{t, t.TempDir()}
	weights := s.blob("model", gguftest.Model{Arch: "llama"}.Bytes(t))
	short := layer{"mediaType": weights["mediaType"], "digest": weights["digest"], "size": 7}
	s.manifest("registry.ollama.ai/library/tuned/latest", weights, s.blob("adapter", []byte("a")))
	s.manifest("registry.ollama.ai/library/cloud/latest")
	s.manifest("registry.ollama.ai/library/mlx/latest", s.blob("tensor", []byte("t")))
	s.manifest("registry.ollama.ai/library/two/latest", weights, weights)
	s.manifest("registry.ollama.ai/library/short/latest", short)
	s.manifest("registry.ollama.ai/library/gone/latest", layer{"mediaType": weights["mediaType"], "size": 7,
		"digest": "sha256:" + strings.Repeat("0", 64)})
	s.manifest("registry.ollama.ai/library/evil/latest", layer{"mediaType": weights["mediaType"], "size": 7,
		"digest": "sha256:../../etc/passwd"})
	s.write("manifests/registry.ollama.ai/library/bad/latest", []byte("{"))
	f := finder(t)
	f.Ollama = []string{s.root}
	for _, tt := range []struct{ name, want string }{
		{"ollama:tuned", "a model with an adapter (a layer of kind adapter)"},
		{"ollama:cloud", "it has no weights on this machine"},
		{"ollama:mlx", "it is stored as safetensors"},
		{"ollama:two", "it has 2 layers of weights"},
		{"ollama:short", "and the manifest says 7; run ollama pull again"},
		{"ollama:gone", "run ollama pull again"},
		{"ollama:evil", "which is not a sha256"},
		{"ollama:bad", "is damaged"},
		{"ollama:none:7b", "has no model none:7b on this machine (looked in " + s.root + "); run ollama pull none:7b"},
		{"ollama:../x", "is not a name of Ollama's"},
		{"ollama:a/../b", "is not a name of Ollama's"},
		{"ollama:a/b/c/d", "is not a name of Ollama's"},
		{"ollama:", "is not a name of Ollama's"},
		{"ollama:x:", "is not a name of Ollama's"},
		{"ollama:x:.y", "is not a name of Ollama's"},
	} {
		if _, err := f.Folder(context.Background(), tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A store of another user says so.
func TestOllamaDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	s := store{t, t.TempDir()}
	s.manifest("registry.ollama.ai/library/x/latest", s.blob("model", []byte("x")))
	if err := os.Chmod(filepath.Join(s.root, "manifests"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(s.root, "manifests"), 0o755)
	f := finder(t)
	f.Ollama = []string{s.root}
	if _, err := f.Folder(context.Background(), "ollama:x"); err == nil ||
		!strings.Contains(err.Error(), "may not be read") {
		t.Errorf("got %v", err)
	}
}

// A blob in the form of very old stores is found.
func TestOllamaOldBlob(t *testing.T) {
	s := store{t, t.TempDir()}
	weights := s.blob("model", gguftest.Model{Arch: "qwen3"}.Bytes(t))
	digest, _ := weights["digest"].(string)
	s.manifest("registry.ollama.ai/library/x/latest", weights)
	blobs := filepath.Join(s.root, "blobs")
	if err := os.Rename(filepath.Join(blobs, strings.Replace(digest, ":", "-", 1)), filepath.Join(blobs,
		digest)); err != nil {
		t.Skip("this file system has no colons in names:", err)
	}
	f := finder(t)
	f.Ollama = []string{s.root}
	m, err := f.Model(context.Background(), "ollama:x")
	if err != nil {
		t.Fatal(err)
	}
	checkFolder(t, m.Dir)
}
