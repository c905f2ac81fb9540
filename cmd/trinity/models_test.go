package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	m, err := c.findModels(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.order) < 2 || !slices.Equal(m.order[:2], []string{"abc", "mine"}) ||
		slices.Contains(m.order, shippedRoot+"/model") {
		t.Errorf("the order is %q", m.order)
	}
	if m.aliases["other"] != "mine" || m.aliases["tiny"] == "" || m.hubNames["abc"] != "Some/Org-Model" ||
		m.hubNames["mine"] != "" {
		t.Errorf("aliases %v, names on the hub %v", m.aliases, m.hubNames)
	}
	for alias := range m.aliases {
		if filepath.IsAbs(alias) {
			t.Errorf("alias %s is a folder of this machine", alias)
		}
	}
	private, err := m.private(c.Data)
	if err != nil || m.folders[filepath.Join(dir, "z/mine")] != "mine" ||
		private[filepath.Join(dir, "z/mine")] != "mine" ||
		!strings.Contains(private[c.Data], "data") {
		t.Errorf("folders %v, in errors %v, %v", m.folders, private, err)
	}
	c.Models = nil
	c.Alias = nil
	if m, err = c.findModels(s); err != nil || m.order != nil {
		t.Errorf("without --models: order %q, %v", m.order, err)
	}
}
