package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf/gguftest"
)

// The user's own models come first and the shipped one last. A folder is accepted as a name but never shown. The path
// of a folder in the hub's cache names its repository.
func TestFindModels(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	const snapshot = "cache/models--Some--Org-Model/snapshots/abc"
	for _, name := range []string{"z/mine", snapshot} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("../../examples/tiny/model")); err != nil {
			t.Fatal(err)
		}
	}
	s := &surroundings{
		out:      &bytes.Buffer{},
		err:      &bytes.Buffer{},
		env:      func(string) (string, bool) { return "", false },
		cacheDir: t.TempDir(),
	}
	c := serveStart{
		Addr:   "127.0.0.1:0",
		Models: []string{filepath.Join(dir, "z"), filepath.Join(dir, snapshot)},
		Alias:  map[string]string{"other": "mine"},
	}
	c.Data = filepath.Join(dir, "data")
	m, err := findModels(s, c.Models, c.Alias)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Order) < 2 || !slices.Equal(m.Order[:2], []string{"abc", "mine"}) ||
		slices.Contains(m.Order, shippedRoot+"/model") {
		t.Errorf("the order is %q", m.Order)
	}
	if m.Aliases["other"] != "mine" || m.Aliases["tiny"] == "" || m.HubNames["abc"] != "Some/Org-Model" ||
		m.HubNames["mine"] != "" {
		t.Errorf("aliases %v, names on the hub %v", m.Aliases, m.HubNames)
	}
	for alias := range m.Aliases {
		if filepath.IsAbs(alias) {
			t.Errorf("alias %s is a folder of this machine", alias)
		}
	}
	private, err := m.Private(c.Data)
	if err != nil || m.Folders[filepath.Join(dir, "z/mine")] != "mine" ||
		private[filepath.Join(dir, "z/mine")] != "mine" ||
		!strings.Contains(private[c.Data], "data") {
		t.Errorf("folders %v, in errors %v, %v", m.Folders, private, err)
	}
	c.Models = nil
	c.Alias = nil
	if m, err = findModels(s, c.Models, c.Alias); err != nil || m.Order != nil {
		t.Errorf("without --models: order %q, %v", m.Order, err)
	}
}

// Models whose weights cannot be loaded are left out with the reason, as those with an unsupported configuration are.
func TestUnloadableModelsAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	for name, change := range map[string]func(dir string) error{
		"good": func(string) error { return nil },
		"layer": func(dir string) error { // one more than there are tensors for
			return replaceIn(filepath.Join(dir, "config.json"), `"num_hidden_layers": 4`, `"num_hidden_layers": 5`)
		},
		"wide": func(dir string) error {
			return replaceIn(filepath.Join(dir, "config.json"), `"intermediate_size": `, `"intermediate_size": 1`)
		},
		"cut": func(dir string) error { return os.Truncate(filepath.Join(dir, "model.safetensors"), 1000) },
		"shards": func(dir string) error {
			return os.Rename(filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "model-1.safetensors"))
		},
	} {
		at := filepath.Join(dir, name)
		if err := os.CopyFS(at, os.DirFS("../../examples/tiny/model")); err != nil {
			t.Fatal(err)
		}
		if err := change(at); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	s := &surroundings{ctx: t.Context(), out: &said, err: &said, cacheDir: t.TempDir(),
		env: func(string) (string, bool) { return "", false }}
	found, err := findModels(s, []string{dir}, nil)
	if err != nil || !slices.Equal(found.Order, []string{"good"}) {
		t.Errorf("the models are %q, %v", found.Order, err)
	}
	for _, want := range []string{`layer: tensor "model.layers.`, "is missing", `wide: tensor "model.layers.0.mlp`,
		"config.json gives", "cut/model.safetensors", "shards has neither model.safetensors nor"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the notes lack %q:\n%s", want, said.String())
		}
	}
}

// replaceIn replaces a text that a file must have.
func replaceIn(path, from, to string) error {
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), from) {
		return fmt.Errorf("%s has no %q: %v", path, from, err)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), from, to, 1)), 0o600)
}

// A GGUF model has its file's name without .gguf: named by itself, or below a folder, where a model folder's own file
// is not another model. Two models of one name are refused.
func TestFindGGUF(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	at := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m := gguftest.Model{Arch: "llama"}
	m.Write(t, at("alone/Tiny.Q8_0.gguf"))
	m.Write(t, at("below/sub/a.gguf"))
	m.Split(t, at("below/b"), 2)
	if err := os.CopyFS(at("below/mine"), os.DirFS("../../examples/tiny/model")); err != nil {
		t.Fatal(err)
	}
	m.Write(t, at("below/mine/copy.gguf"))
	if err := os.WriteFile(at("below/broken.gguf"), []byte("GGUF"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	s := &surroundings{ctx: t.Context(), out: &said, err: &said, cacheDir: t.TempDir(),
		env: func(string) (string, bool) { return "", false }}
	c := serveStart{Models: []string{at("alone/Tiny.Q8_0.gguf"), at("below")}}
	found, err := findModels(s, c.Models, c.Alias)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Tiny.Q8_0", "a", "b", "mine"}; !slices.Equal(found.Order[:4], want) {
		t.Errorf("the models are %q, want %q", found.Order, want)
	}
	if !strings.Contains(said.String(), "is not served: serve: gguf: "+at("below/broken.gguf")) {
		t.Errorf("it said %s", said.String())
	}
	m.Seed = 1
	m.Write(t, at("other/a.gguf"))
	c.Models = append(c.Models, at("other"))
	if _, err := findModels(s, c.Models, c.Alias); err == nil ||
		!strings.Contains(err.Error(), "another model is called a; rename") {
		t.Errorf("two models of one name: %v", err)
	}
}

// Links to folders are not followed, and who names a folder of links hears that.
func TestFindLinks(t *testing.T) {
	dir := t.TempDir()
	model, err := filepath.Abs("../../examples/tiny/model")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "links", "mine")
	if err := errors.Join(os.Mkdir(filepath.Dir(link), 0o755), os.Symlink(model, link)); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	s := &surroundings{ctx: t.Context(), out: &said, err: &said, cacheDir: t.TempDir(),
		env: func(string) (string, bool) { return "", false }}
	c := serveStart{Models: []string{filepath.Dir(link)}}
	_, err = findModels(s, c.Models, c.Alias)
	if err == nil || !strings.Contains(err.Error(), "links to folders are not followed") ||
		!strings.Contains(err.Error(), link) {
		t.Errorf("a folder of links: %v", err)
	}
	if err := os.CopyFS(filepath.Join(dir, "links", "copy"), os.DirFS(model)); err != nil {
		t.Fatal(err)
	}
	if _, err := findModels(s, c.Models, c.Alias); err != nil || !strings.Contains(said.String(), "note: --models") ||
		!strings.Contains(said.String(), link) {
		t.Errorf("a link beside a model: %v, and it said %s", err, said.String())
	}
}
