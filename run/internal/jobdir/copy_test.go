package jobdir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// The exported model has the files of its checkpoint, those in folders too, and none that only training needs.
func TestExportModel(t *testing.T) {
	from, d := t.TempDir(), Dir{Path: t.TempDir(), FS: disk.OS()}
	err := os.Mkdir(filepath.Join(from, "additional_chat_templates"), 0o755)
	for _, name := range []string{"config.json", "additional_chat_templates/tool_use.jinja", "optimizer.safetensors",
		"trinity.json"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(from, name), []byte(name), 0o600))
	}
	if err = errors.Join(err, d.ExportModel(3, from)); err != nil {
		t.Fatal(err)
	}
	got, err := disk.Files(d.File("global_step_3", "actor", "huggingface"))
	if want := []string{"additional_chat_templates/tool_use.jinja", "config.json"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
