package disktest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// A crash leaves half of an unsynced write; a power loss leaves none of it.
func TestCrashTearsAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, tt := range []struct {
		power bool
		want  string
	}{{false, "aaaabb"}, {true, "aaaa"}} {
		os.Remove(path)
		fs := &Crash{FS: disk.OS(), At: 4, PowerLoss: tt.power}
		f, _ := fs.Append(path)
		f.Write([]byte("aaaa"))
		f.Sync()
		if _, err := f.Write([]byte("bbbb")); !errors.Is(err, ErrCrash) {
			t.Fatalf("fourth operation: %v, want a crash", err)
		}
		if err := f.Sync(); !errors.Is(err, ErrCrash) {
			t.Errorf("after the crash: %v", err)
		}
		if got, _ := os.ReadFile(path); string(got) != tt.want {
			t.Errorf("power loss %v: %q, want %q", tt.power, got, tt.want)
		}
	}
}

// TestTransaction: after a crash a transaction is not begun, and one that a crash interrupts fails.
func TestTransaction(t *testing.T) {
	ran := 0
	run := func() error { ran++; return nil }
	c := &Crash{FS: disk.OS(), At: 2}
	if err := c.Transaction("rows", run); err != nil || ran != 1 {
		t.Errorf("the first: %v, ran %d times", err, ran)
	}
	if err := c.Transaction("rows", run); !errors.Is(err, ErrCrash) || ran != 1 {
		t.Errorf("the second: %v, ran %d times", err, ran)
	}
	d := &Crash{FS: disk.OS()}
	if err := d.Transaction("rows", func() error { d.Now(); return nil }); !errors.Is(err, ErrCrash) {
		t.Errorf("interrupted: %v", err)
	}
	want := errors.New("no table")
	if err := disk.OS().Transaction("rows", func() error { return want }); err != want {
		t.Errorf("its own error: %v", err)
	}
}
