package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
)

// TestGrown: the rest of a failed write is removed before the next write, and so are bytes beyond the size when the
// file is opened.
func TestGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	full := &disktest.Full{FS: disk.OS()}
	g, err := disk.OpenGrown(full, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	full.Now.Store(true)
	if _, err := g.Write([]byte("lost")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a full disk gives %v", err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "lo" {
		t.Fatalf("%q, %v: the failed write left no half", raw, err)
	}
	full.Now.Store(false)
	for _, text := range []string{"one ", "two "} {
		if _, err := g.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Sync(), g.Close()); err != nil || g.Size() != 8 {
		t.Fatalf("size %d, %v", g.Size(), err)
	}
	if g, err = disk.OpenGrown(disk.OS(), path, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Write([]byte("three")); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "one three" || g.Close() != nil {
		t.Errorf("the file is %q, %v", raw, err)
	}
}
