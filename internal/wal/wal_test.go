package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/internal/wal"
)

// collect opens the log and returns its records as "kind payload".
func collect(path string, o wal.Options) (l *wal.Log, got []string, err error) {
	l, err = wal.Open(path, o, func(kind byte, payload []byte) error {
		got = append(got, fmt.Sprintf("%c %s", kind, payload))
		return nil
	})
	return l, got, err
}

func must(t *testing.T, path string, o wal.Options) (*wal.Log, []string) {
	t.Helper()
	l, got, err := collect(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return l, got
}

func put(t *testing.T, l *wal.Log, texts ...string) {
	t.Helper()
	for _, text := range texts {
		at, err := l.Append('r', []byte(text))
		if err == nil {
			err = l.Sync(at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeepsWhatWasSynced(t *testing.T) {
	path, o := filepath.Join(disktest.TempDir(t), "a.log"), wal.Options{FS: disktest.Held{FS: disk.OS()}}
	l, got := must(t, path, o)
	if len(got) != 0 {
		t.Fatalf("a new log has %q", got)
	}
	put(t, l, "one", "two", strings.Repeat("x", 100_000))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, got = must(t, path, o)
	if want := []string{"r one", "r two", "r " + strings.Repeat("x", 100_000)}; !slices.Equal(got, want) {
		t.Fatalf("got %d records", len(got))
	}
	err := l.Rewrite(func(add func(byte, []byte) error) error { return add('b', []byte("base")) })
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, "three")
	l.Close()
	if l, got = must(t, path, o); !slices.Equal(got, []string{"b base", "r three"}) {
		t.Fatalf("after a rewrite: %q", got)
	}
	l.Close()
}

// A log that could not be opened again after a rewrite has what it promised, and goes on when it can be.
func TestRewriteThatCannotReopen(t *testing.T) {
	path, dfs := filepath.Join(disktest.TempDir(t), "a.log"), &noAppend{FS: disk.OS()}
	l, _ := must(t, path, wal.Options{FS: dfs})
	put(t, l, "one")
	at, err := l.Append('r', []byte("two"))
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"", "base"} {
		dfs.now.Store(true)
		err = l.Rewrite(func(add func(byte, []byte) error) error {
			if text == "" {
				return errors.New("no records")
			}
			return add('b', []byte(text))
		})
		if err == nil || l.Heal() == nil {
			t.Fatalf("rewrite %d: no error, or healed though the file cannot be opened", i)
		}
		dfs.now.Store(false)
		if err := errors.Join(l.Heal(), l.Sync(at)); err != nil {
			t.Fatal(err)
		}
		r, err := wal.Check(path, wal.Options{}, func(byte, []byte) error { return nil })
		if err != nil || r.Records != 2-i {
			t.Fatalf("after rewrite %d: %d records, %v", i, r.Records, err)
		}
	}
	put(t, l, "three")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, got := must(t, path, wal.Options{}); !slices.Equal(got, []string{"b base", "r three"}) {
		t.Fatalf("got %q", got)
	}
}

// noAppend opens no file to append while now is set.
type noAppend struct {
	disk.FS
	now atomic.Bool
}

func (n *noAppend) Append(path string) (disk.File, error) {
	if n.now.Load() {
		return nil, syscall.EACCES
	}
	return n.FS.Append(path)
}

func TestManyAtOnceShareSyncs(t *testing.T) {
	path := filepath.Join(disktest.TempDir(t), "a.log")
	l, _ := must(t, path, wal.Options{})
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() { put(t, l, fmt.Sprint(i)) })
	}
	all.Wait()
	l.Close()
	_, got, err := collect(path, wal.Options{})
	if err != nil || len(got) != 200 {
		t.Fatalf("%d records, %v", len(got), err)
	}
}

// The writer refuses what the reader would.
func TestLimitIsShared(t *testing.T) {
	path := filepath.Join(disktest.TempDir(t), "a.log")
	l, _ := must(t, path, wal.Options{Limit: 1000})
	put(t, l, strings.Repeat("a", 1000))
	if _, err := l.Append('r', make([]byte, 1001)); !errors.Is(err, wal.ErrTooLarge) {
		t.Errorf("a payload above the limit: %v", err)
	}
	l.Close()
	l, got := must(t, path, wal.Options{Limit: 1000})
	if len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
	l.Close()
	if _, _, err := collect(path, wal.Options{Limit: 999}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a record above the reader's limit: %v", err)
	}
}

// Every mutation of a closed log or of its marks gives the same records or an error that names the file.
func TestMutations(t *testing.T) {
	dir := disktest.TempDir(t)
	path := filepath.Join(dir, "a.log")
	l, _ := must(t, path, wal.Options{})
	for i := range 12 {
		put(t, l, fmt.Sprintf("record %d %s", i, strings.Repeat("z", 7*i)))
	}
	l.Close()
	_, want, _ := collect(path, wal.Options{})
	refused, equal := 0, 0
	for _, name := range []string{path, path + ".mark"} {
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			for _, mutated := range [][]byte{flipped(whole, i), whole[:i],
				append(bytes.Clone(whole[:i]), whole[i+1:]...)} {
				copied := filepath.Join(disktest.TempDir(t), "a.log")
				os.WriteFile(copied, read(t, path), 0o644)
				os.WriteFile(copied+".mark", read(t, path+".mark"), 0o644)
				os.WriteFile(strings.Replace(name, path, copied, 1), mutated, 0o644)
				m, got, err := collect(copied, wal.Options{})
				switch {
				case err != nil && strings.Contains(err.Error(), copied):
					refused++
				case err == nil && slices.Equal(got, want):
					equal++
					m.Close()
				default:
					t.Fatalf("%s mutated at byte %d: %d records, %v", filepath.Base(name), i, len(got), err)
				}
			}
		}
	}
	t.Logf("%d mutations: %d refused by name, %d with equal records", refused+equal, refused, equal)
	if refused == 0 || equal == 0 || refused+equal < 1000 {
		t.Errorf("%d refused, %d equal", refused, equal)
	}
}

func flipped(b []byte, i int) []byte {
	out := bytes.Clone(b)
	out[i] ^= 1 << (i % 8)
	return out
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A power loss leaves any part of an unsynced write: Open cuts it off and reports it, and promised records are there.
func TestTornTail(t *testing.T) {
	path := filepath.Join(disktest.TempDir(t), "a.log")
	l, _ := must(t, path, wal.Options{})
	put(t, l, "promised")
	sound := len(read(t, path))
	mark := read(t, path+".mark")
	for _, text := range []string{"lost 1", "lost 2", "lost 3"} {
		l.Append('r', []byte(text))
	}
	l.Close()
	whole := read(t, path)
	os.WriteFile(path+".mark", mark, 0o644)
	for cut := sound; cut < len(whole); cut++ {
		hole := bytes.Clone(whole)
		clear(hole[sound:cut]) // the first pages did not reach the disk, later ones did
		for _, torn := range [][]byte{whole[:cut], hole} {
			if bytes.Equal(torn, whole) {
				continue
			}
			os.WriteFile(path, torn, 0o644)
			var said []string
			l, got := must(t, path, wal.Options{Notice: func(msg string) { said = append(said, msg) }})
			l.Close()
			os.WriteFile(path+".mark", mark, 0o644)
			if len(got) == 0 || got[0] != "r promised" {
				t.Fatalf("cut at %d: %q", cut, got)
			}
			if len(torn) > len(read(t, path)) && (len(said) != 1 || !strings.Contains(said[0], "cut off")) {
				t.Fatalf("cut at %d: said %q", cut, said)
			}
		}
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	path := filepath.Join(disktest.TempDir(t), "a.log")
	os.WriteFile(path, wal.HeaderOfVersion(2), 0o644)
	if _, _, err := collect(path, wal.Options{}); err == nil || !strings.Contains(err.Error(), "version 2") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("a newer version: %v", err)
	}
}

// A failed write keeps the appended records in order, and the next Sync writes them; with Drop they are forgotten.
func TestFullDisk(t *testing.T) {
	for _, drop := range []bool{false, true} {
		path := filepath.Join(disktest.TempDir(t), "a.log")
		full := &disktest.Full{FS: disk.OS()}
		l, _ := must(t, path, wal.Options{FS: full, Drop: drop})
		put(t, l, "one")
		full.Now.Store(true)
		at, err := l.Append('r', []byte("two"))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Sync(at); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a full disk: %v", err)
		}
		if err := l.Heal(); !drop && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("still full: %v", err)
		}
		full.Now.Store(false)
		if err := l.Heal(); err != nil {
			t.Fatal(err)
		}
		put(t, l, "three")
		l.Close()
		want := []string{"r one", "r two", "r three"}
		if drop {
			want = []string{"r one", "r three"}
		}
		if _, got := must(t, path, wal.Options{}); !slices.Equal(got, want) {
			t.Errorf("drop %v: %q, want %q", drop, got, want)
		}
	}
}

// Stopped at any operation, a log keeps every synced record, in order, and nothing but a prefix of the rest.
func TestEveryCrash(t *testing.T) {
	disktest.EveryCrash(t, func(t *testing.T, dir string) (disktest.Job, func()) {
		t.Parallel()
		path, want := filepath.Join(dir, "a.log"), []string{"r 0", "r 1", "r 2", "r 3", "r 4", "r 5"}
		promised, rewritten := 0, false
		work := func(fs disk.FS) error {
			l, got, err := collect(path, wal.Options{FS: fs})
			if err != nil {
				return err
			}
			defer l.Close()
			if len(got) < promised || !slices.Equal(got, want[:len(got)]) {
				return fmt.Errorf("%d records were promised, the log has %q", promised, got)
			}
			for promised = len(got); promised < len(want); promised++ {
				if promised == 3 && !rewritten {
					rewritten = true // once: the next process has no reason to repeat it
					err := l.Rewrite(func(add func(kind byte, payload []byte) error) error {
						return errors.Join(add('r', []byte("0")), add('r', []byte("1")), add('r', []byte("2")))
					})
					if err != nil {
						return err
					}
				}
				at, err := l.Append('r', []byte(fmt.Sprint(promised)))
				if err == nil {
					err = l.Sync(at)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
		return work, func() {
			l, got := must(t, path, wal.Options{})
			defer l.Close()
			if !slices.Equal(got, want) {
				t.Errorf("the log has %q", got)
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.log")
	l, _, err := collect(path, wal.Options{})
	if err != nil {
		f.Fatal(err)
	}
	at, _ := l.Append('r', []byte("seed"))
	l.Sync(at)
	l.Close()
	seed, _ := os.ReadFile(path)
	f.Add(seed)
	f.Add([]byte("TRNLEDG1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(disktest.TempDir(t), "a.log")
		os.WriteFile(path, data, 0o644)
		wal.Check(path, wal.Options{Limit: 1 << 20}, func(byte, []byte) error { return nil })
	})
}
