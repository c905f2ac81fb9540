package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// After a kill or a power loss at any operation, a replaced file is the complete old or the complete new one.
func TestReplaceSurvivesEveryCrash(t *testing.T) {
	for _, power := range []bool{false, true} {
		for at := 1; ; at++ {
			path := filepath.Join(t.TempDir(), "state")
			if err := disk.WriteFile(disk.OS(), path, []byte("old")); err != nil {
				t.Fatal(err)
			}
			fs := &disktest.Crash{FS: disk.OS(), At: at, PowerLoss: power}
			err := disk.WriteFile(fs, path, []byte("new content"))
			got, rerr := os.ReadFile(path)
			if rerr != nil || string(got) != "old" && string(got) != "new content" {
				t.Fatalf("crash at %d: file holds %q, %v", at, got, rerr)
			}
			if err == nil {
				if string(got) != "new content" {
					t.Errorf("written without error, but the file holds %q", got)
				}
				break
			}
			if !errors.Is(err, disktest.ErrCrash) {
				t.Fatalf("crash at %d: error %v", at, err)
			}
		}
	}
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
