package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An unreadable model is named and does not stop the others.
func TestOneModelDamaged(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"good", "bad"} {
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS("../../examples/tiny/model")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "bad", "config.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var notes strings.Builder
	note := func(text string) { notes.WriteString(text) }
	m := empty(Options{Note: note})
	if err := m.walk(root); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Models["good"]; !ok || len(m.Models) != 1 || !strings.Contains(notes.String(), "is not served") {
		t.Errorf("served are %v; notes: %s", m.Models, &notes)
	}
	if err := m.walk(filepath.Join(root, "bad")); err == nil {
		t.Error("a folder with nothing but a damaged model is not an error")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Skip(err)
	}
	linked := empty(Options{Note: note})
	err := linked.walk(link)
	if got := linked.Models["good"].Dir; err != nil || got != filepath.Join(link, "good") {
		t.Errorf("through a link, the model is %q: %v", got, err)
	}
}
