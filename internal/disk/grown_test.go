package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGrown: what a full disk leaves of a write is gone before the next one, and what is behind the size at the
// opening.
func TestGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	full := &Full{FS: OS()}
	g, err := OpenGrown(full, path, 0)
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
	if g, err = OpenGrown(OS(), path, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Write([]byte("three")); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "one three" || g.Close() != nil {
		t.Errorf("the file is %q, %v", raw, err)
	}
}

// TestTransaction: one that the crash forbids is not begun, and one that it interrupts did not succeed.
func TestTransaction(t *testing.T) {
	ran := 0
	run := func() error { ran++; return nil }
	c := &Crash{FS: OS(), At: 2}
	if err := c.Transaction("rows", run); err != nil || ran != 1 {
		t.Errorf("the first: %v, ran %d times", err, ran)
	}
	if err := c.Transaction("rows", run); !errors.Is(err, ErrCrash) || ran != 1 {
		t.Errorf("the second: %v, ran %d times", err, ran)
	}
	d := &Crash{FS: OS()}
	if err := d.Transaction("rows", func() error { d.Now(); return nil }); !errors.Is(err, ErrCrash) {
		t.Errorf("interrupted: %v", err)
	}
	want := errors.New("no table")
	if err := OS().Transaction("rows", func() error { return want }); err != want {
		t.Errorf("its own error: %v", err)
	}
}
