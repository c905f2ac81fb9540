package jobdir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
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

// Stopped at any operation, a job keeps the identity and the template that a process began with, and an exported model
// is whole once ExportModel has returned.
func TestEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, work string) (disktest.Job, func()) {
		from, seeds, exported := filepath.Join(work, "from"), []uint64(nil), false
		err := errors.Join(os.MkdirAll(filepath.Join(from, "in"), 0o755),
			os.WriteFile(filepath.Join(from, "in", "config.json"), []byte("{}"), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		d := Dir{Path: filepath.Join(work, "jobs", "x")}
		whole := func() error {
			got, err := disk.Files(d.File("global_step_3", "actor", "huggingface"))
			if err == nil && !slices.Equal(got, []string{"in/config.json"}) {
				err = fmt.Errorf("the exported model has %q", got)
			}
			return err
		}
		job := func(fs disk.FS) error {
			d.FS = fs
			unlock, err := d.Lock(t.Context(), io.Discard, Trainer)
			if err != nil {
				return err
			}
			defer unlock()
			if err := d.Make(); err != nil {
				return err
			}
			id, err := d.Identity(Identity{Seed: uint64(len(seeds))}) // each process would draw another
			if err != nil {
				return err
			}
			if seeds = append(seeds, id.Seed); id.Seed != seeds[0] {
				return fmt.Errorf("processes had the seeds %v", seeds)
			}
			if exported {
				return whole()
			}
			if err := errors.Join(d.KeepTemplate("template"), d.ExportModel(3, from)); err != nil {
				return err
			}
			exported = true
			return nil
		}
		return job, func() {
			if err := whole(); err != nil {
				t.Error(err)
			}
		}
	})
}
