package jobdir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// What a job notes of its model is found from anything in its folder; its place counts while something is there. Mode
// bench changes nothing.
func TestNotes(t *testing.T) {
	dir, model := t.TempDir(), t.TempDir()
	deep := filepath.Join(dir, "global_step_4", "actor")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	d := Dir{FS: disk.OS(), Path: dir}
	want := Notes{Model: "some/model", Path: model, System: "Think.", Temperature: 0.7, TopP: 0.9, TopK: -1}
	if err := d.KeepNotes(want); err != nil {
		t.Fatal(err)
	}
	if n, err := ReadNotes(deep); err != nil || n != nil {
		t.Errorf("no job: %v, %v", n, err)
	}
	if err := os.WriteFile(d.File("run.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (Dir{FS: disk.OS(), Path: dir, bench: true}).KeepNotes(Notes{}); err != nil {
		t.Fatal(err)
	}
	n, err := ReadNotes(deep)
	if err != nil || n == nil || *n != want {
		t.Fatalf("got %+v, %v, want %+v", n, err, want)
	}
	if got := n.Find("some/model"); got != model {
		t.Errorf("the model is at %s, want %s", got, model)
	}
	if got := n.Find("other/model"); got != "other/model" {
		t.Errorf("another model is at %s", got)
	}
	os.Remove(model)
	if got := n.Find("some/model"); got != "some/model" {
		t.Errorf("a model that is gone is at %s", got)
	}
	if got := (*Notes)(nil).Find("some/model"); got != "some/model" {
		t.Errorf("without notes the model is at %s", got)
	}
}
