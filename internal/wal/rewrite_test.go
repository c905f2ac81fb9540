package wal_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// failing is a disk on which one operation fails.
type failing struct {
	disk.FS
	op string
}

var errFailing = errors.New("failing")

func (f *failing) fails(op string) error {
	if f.op == op {
		return errFailing
	}
	return nil
}

func (f *failing) SyncDir(path string) error {
	return errors.Join(f.fails("sync"), f.FS.SyncDir(path))
}

func (f *failing) Rename(from, to string) error {
	if err := f.fails("rename"); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *failing) Append(path string) (disk.File, error) {
	if err := f.fails("append"); err != nil {
		return nil, err
	}
	return f.FS.Append(path)
}

func (f *failing) Create(path string) (disk.File, error) {
	if strings.HasSuffix(path, ".mark") && f.op == "mark" {
		return nil, errFailing
	}
	return f.FS.Create(path)
}

// A rewrite that fails at any step leaves a log in which nothing is promised until the file at its path has it.
func TestFailedRewrite(t *testing.T) {
	for _, op := range []string{"rename", "sync", "append", "mark"} {
		path := filepath.Join(disktest.TempDir(t), "a.log")
		d := &failing{FS: disk.OS()}
		l, _ := must(t, path, wal.Options{FS: d})
		put(t, l, "one")
		if _, err := l.Append('r', []byte("two")); err != nil { // not written yet
			t.Fatal(err)
		}
		d.op = op
		err := l.Rewrite(func(add func(byte, []byte) error) error {
			return errors.Join(add('r', []byte("one")), add('r', []byte("two")))
		})
		if !errors.Is(err, errFailing) {
			t.Fatalf("%s fails: %v", op, err)
		}
		at, err := l.Append('r', []byte("three"))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Sync(at); op != "rename" && !errors.Is(err, errFailing) {
			t.Errorf("%s fails still: promised (%v)", op, err)
		}
		d.op = ""
		if err := errors.Join(l.Sync(at), l.Heal()); err != nil {
			t.Fatalf("%s works again: %v", op, err)
		}
		put(t, l, "four")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, got := must(t, path, wal.Options{})
		l.Close()
		if want := []string{"r one", "r two", "r three", "r four"}; !slices.Equal(got, want) {
			t.Errorf("after a rewrite whose %s failed: %q, want %q", op, got, want)
		}
	}
}
