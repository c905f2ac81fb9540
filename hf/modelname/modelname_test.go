package modelname

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

func finder(t *testing.T) Finder {
	t.Helper()
	return Finder{Find: func(p string) string { return p }, Cache: t.TempDir()}
}

// checkFolder reads a model folder.
func checkFolder(t *testing.T, dir string) {
	t.Helper()
	if _, err := tokenizer.Load(dir); err != nil {
		t.Error(err)
	}
	f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Tensor("model.layers.1.mlp.down_proj.weight"); err != nil {
		t.Error(err)
	}
}

// beside lists what is in the cache.
func beside(t *testing.T, f Finder) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.Cache, "trinity", "gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A GGUF file is a model by its name, by its folder's, and by the name of the first of its parts.
func TestFile(t *testing.T) {
	f, dir := finder(t), t.TempDir()
	m := gguftest.Model{Arch: "llama"}
	m.Write(t, filepath.Join(dir, "Tiny.Q8_0.gguf"))
	m.Write(t, filepath.Join(dir, "mmproj-tiny.gguf"))
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	hf := t.TempDir() // with a GGUF file beside its weights
	for _, name := range []string{"config.json", "model.safetensors", "copy.gguf"} {
		if err := os.WriteFile(filepath.Join(hf, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Model(context.Background(), hf); err != nil || got.Dir != hf || got.File != "" {
		t.Errorf("a Hugging Face folder is %+v, %v", got, err)
	}
	first := m.Split(t, filepath.Join(t.TempDir(), "tiny"), 3)
	for name, want := range map[string]string{filepath.Join(dir, "Tiny.Q8_0.gguf"): "Tiny.Q8_0", dir: "Tiny.Q8_0",
		first: "tiny", filepath.Dir(first): "tiny"} {
		got, err := f.Model(context.Background(), name)
		if err != nil || got.Name != want {
			t.Fatalf("%s is %+v, %v", name, got, err)
		}
		checkFolder(t, got.Dir)
	}
	if list := beside(t, f); len(list) != 2 {
		t.Errorf("the cache has %q, want two folders", list)
	}
}

// Names that lead nowhere, or to several models, are refused with what to do.
func TestRefused(t *testing.T) {
	f, dir := finder(t), t.TempDir()
	m := gguftest.Model{Arch: "llama"}
	m.Write(t, filepath.Join(dir, "a.gguf"))
	m.Write(t, filepath.Join(dir, "b.gguf"))
	first := m.Split(t, filepath.Join(t.TempDir(), "tiny"), 2)
	second := strings.Replace(first, "00001-of", "00002-of", 1)
	lost := m.Split(t, filepath.Join(t.TempDir(), "tiny"), 2)
	if err := os.Remove(strings.Replace(lost, "00001-of", "00002-of", 1)); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.gguf")
	if err := os.WriteFile(broken, []byte("<!DOCTYPE html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := f
	none.Cache = ""
	for _, tt := range []struct{ name, want string }{
		{dir, "has several GGUF models: a.gguf, b.gguf; name one of the files"},
		{second, "part 2 of 2 of a model; name the first one, tiny-00001-of-00002.gguf"},
		{lost, "part 2 of 2"},
		{broken, `begins with "<!DO" and not with GGUF`},
		{filepath.Join(dir, "c.gguf"), "is not a folder or GGUF file here"},
		{"sub/model.gguf", "is not a folder or GGUF file here"},
		{"hf.co/owner/name:Q4_K_M", "is on the hub, and only files of this machine"},
		{"ollama:x", "Ollama has no model x:latest on this machine"},
	} {
		if _, err := f.Folder(context.Background(), tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	_, err := none.Folder(context.Background(), first)
	if err == nil || !strings.Contains(err.Error(), "XDG_CACHE_HOME") {
		t.Errorf("without a cache: %v", err)
	}
}

// A file that changed is converted again; one that did not is not.
func TestChanged(t *testing.T) {
	f, path := finder(t), filepath.Join(t.TempDir(), "m.gguf")
	made := 0
	f.Note = func(string) { made++ }
	gguftest.Model{Arch: "llama"}.Write(t, path)
	var dirs []string
	for _, step := range []func(){func() {}, func() {}, func() {
		gguftest.Model{Arch: "llama", Seed: 1}.Write(t, path)
		later := time.Now().Add(time.Second)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}} {
		step()
		dir, err := f.Folder(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	if dirs[0] != dirs[1] || dirs[1] == dirs[2] || made != 2 {
		t.Errorf("the folders are %q, %d were made", dirs, made)
	}
}

// Several at once make one folder, and what a killed process left half is not taken and does not stay.
func TestAtOnce(t *testing.T) {
	f, path := finder(t), filepath.Join(t.TempDir(), "m.gguf")
	gguftest.Model{Arch: "llama"}.Write(t, path)
	id, err := identity(path)
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(f.Cache, "trinity", "gguf", "m-"+id+".making")
	if err := os.MkdirAll(half, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model.safetensors", "config.json"} {
		if err := os.WriteFile(filepath.Join(half, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			dir, err := f.Folder(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			checkFolder(t, dir)
		})
	}
	wg.Wait()
	if list := beside(t, f); len(list) != 1 || list[0] != "m-"+id {
		t.Errorf("the cache has %q, want the folder alone", list)
	}
}

// A conversion that is stopped leaves nothing.
func TestStopped(t *testing.T) {
	f, path := finder(t), filepath.Join(t.TempDir(), "m.gguf")
	gguftest.Model{Arch: "llama"}.Write(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	f.Note = func(string) { cancel() }
	if _, err := f.Folder(ctx, path); err == nil {
		t.Fatal("a stopped conversion returned a folder")
	}
	for _, name := range beside(t, f) {
		if !strings.HasSuffix(name, ".lock") {
			t.Errorf("%s was left", name)
		}
	}
}
