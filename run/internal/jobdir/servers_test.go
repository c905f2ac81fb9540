package jobdir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// The models of each server are kept apart, the oldest first, each once, and no more than a hundred.
func TestServerModels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "remote_models.json")
	a, b := ServerModels{disk.OS(), path, "http://a"}, ServerModels{disk.OS(), path, "http://b"}
	for _, add := range []struct {
		to ServerModels
		id string
	}{{a, "1"}, {b, "x"}, {a, "2"}, {a, "1"}} {
		if err := add.to.Add(add.id); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		of   ServerModels
		want []string
	}{{a, []string{"2", "1"}}, {b, []string{"x"}}, {ServerModels{disk.OS(), path, "http://c"}, nil}} {
		if got, err := tt.of.Read(); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.of.Server, got, err, tt.want)
		}
	}
	for n := range keptNotes + 5 {
		if err := b.Add(strings.Repeat("n", n+1)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Read(); err != nil || len(got) != keptNotes || len(got[0]) != 6 {
		t.Errorf("%d notes are kept, %v, want the newest %d", len(got), err, keptNotes)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("damaged notes: error %v, want the remedy", err)
	}
}

// Stopped at any operation, the notes have every model that was noted.
func TestServerModelsEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		n := ServerModels{Path: filepath.Join(dir, "m.json"), Server: "http://a"}
		noted, want := 0, []string{"0", "1", "2"}
		job := func(fs disk.FS) error {
			n.FS = fs
			got, err := n.Read()
			if err != nil || len(got) < noted || !slices.Equal(got, want[:len(got)]) {
				return fmt.Errorf("%d models were noted, and it has %q, %w", noted, got, err)
			}
			for i := len(got); i < len(want); i++ {
				if err := n.Add(want[i]); err != nil {
					return err
				}
				noted = i + 1
			}
			return nil
		}
		return job, func() {
			if got, err := n.Read(); err != nil || !slices.Equal(got, want) {
				t.Errorf("%q, %v", got, err)
			}
		}
	})
}
