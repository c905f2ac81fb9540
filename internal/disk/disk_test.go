package disk_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// Stopped at any operation, a file that is replaced or made is the complete old or the complete new one, and a written
// one stays written.
func TestEveryCrash(t *testing.T) {
	for name, tt := range map[string]struct {
		old   string
		write func(fs disk.FS, path string) error
	}{
		"WriteFile": {"old", func(fs disk.FS, path string) error {
			return disk.WriteFile(fs, path, []byte("new content"))
		}},
		"Swap, then its folder": {"old", func(fs disk.FS, path string) error {
			if err := disk.Swap(fs, path, func(w io.Writer) error {
				_, err := w.Write([]byte("new content"))
				return err
			}); err != nil {
				return err
			}
			return fs.SyncDir(filepath.Dir(path))
		}},
		"WriteNew": {"", func(fs disk.FS, path string) error {
			return disk.WriteNew(fs, path, "own", []byte("new content"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
				path, written := filepath.Join(dir, "state"), false
				if tt.old != "" {
					os.WriteFile(path, []byte(tt.old), 0o644)
				}
				job := func(fs disk.FS) error {
					got, err := os.ReadFile(path)
					if tt.old != "" && err != nil || written && string(got) != "new content" ||
						err == nil && string(got) != tt.old && string(got) != "new content" {
						return fmt.Errorf("the file has %q, %v; written: %v", got, err, written)
					}
					if err := tt.write(fs, path); err != nil {
						return err
					}
					written = true
					return nil
				}
				return job, func() {
					if got, err := os.ReadFile(path); err != nil || string(got) != "new content" {
						t.Errorf("the file has %q, %v", got, err)
					}
				}
			})
		})
	}
}

// Stopped at any operation, MkdirAll makes folders that stay, whoever made the first of them.
func TestMkdirAll(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		in, written := filepath.Join(dir, "a", "b", "c"), false
		path := filepath.Join(in, "f")
		job := func(fs disk.FS) error {
			if _, err := os.Stat(path); written != (err == nil) {
				return fmt.Errorf("written: %v, and %v", written, err)
			}
			if err := disk.MkdirAll(fs, in); err != nil || written {
				return err
			}
			written = true // WriteFile has tests of its own
			return os.WriteFile(path, nil, 0o644)
		}
		return job, func() {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestReplaceLeavesNothingOnError(t *testing.T) {
	dir := t.TempDir()
	if err := disk.WriteFile(disk.OS(), filepath.Join(dir, "no", "such"), nil); err == nil {
		t.Error("no error for a missing folder")
	}
	if ents, _ := os.ReadDir(dir); len(ents) != 0 {
		t.Errorf("left %v", ents)
	}
}

// If several processes create one file, it has the bytes of the first.
func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for i, text := range []string{"first", "second"} {
		if err := disk.WriteNew(disk.OS(), path, strconv.Itoa(i), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
			t.Errorf("the file has %q, %v", got, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("%d files are left, want one", len(left))
	}
}
