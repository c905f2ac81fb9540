package disktest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// A kill leaves half of an unsynced write; a power loss leaves none of it.
func TestCrashTearsAppends(t *testing.T) {
	for _, tt := range []struct {
		power bool
		want  string
	}{{false, "aaaabb"}, {true, "aaaa"}} {
		path := filepath.Join(TempDir(t), "log")
		fs := &Crash{At: 5, PowerLoss: tt.power}
		f, _ := fs.Append(path)
		f.Write([]byte("aaaa"))
		f.Sync()
		fs.SyncDir(filepath.Dir(path))
		if _, err := f.Write([]byte("bbbb")); !errors.Is(err, ErrCrash) {
			t.Fatalf("fifth operation: %v, want a crash", err)
		}
		if err := f.Sync(); !errors.Is(err, ErrCrash) {
			t.Errorf("after the crash: %v", err)
		}
		if got, _ := os.ReadFile(path); string(got) != tt.want {
			t.Errorf("power loss %v: %q, want %q", tt.power, got, tt.want)
		}
	}
}

// steps is a Crash below a folder, for steps that must not fail.
type steps struct {
	*Crash
	t   *testing.T
	dir string
}

func (s steps) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s steps) path(name string) string { return filepath.Join(s.dir, name) }

// write writes to a file that is created or appended to, and syncs it if asked.
func (s steps) write(open func(string) (disk.File, error), name, text string, sync bool) {
	s.t.Helper()
	f, err := open(s.path(name))
	s.must(err)
	_, err = f.Write([]byte(text))
	s.must(err)
	if sync {
		s.must(f.Sync())
	}
	s.must(f.Close())
}

// has lists what is in the folder: names of folders, and of files with their contents.
func (s steps) has() string {
	s.t.Helper()
	var all []string
	s.must(filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == s.dir {
			return err
		}
		name, _ := filepath.Rel(s.dir, path)
		if d.IsDir() {
			all = append(all, name+"/")
			return nil
		}
		data, err := os.ReadFile(path)
		all = append(all, filepath.ToSlash(name)+"="+string(data))
		return err
	}))
	slices.Sort(all)
	return strings.Join(all, " ")
}

// A power loss undoes what was not synced; one that keeps names undoes only bytes.
func TestPowerLoss(t *testing.T) {
	for name, tt := range map[string]struct {
		do            func(s steps)
		want, lenient string
	}{
		"nothing": {func(s steps) {}, "d/ d/in=5 old=12345", "d/ d/in=5 old=12345"},
		"a file that was created": {func(s steps) { s.write(s.Create, "f", "x", true) },
			"d/ d/in=5 old=12345", "d/ d/in=5 f=x old=12345"},
		"a file whose folder was synced": {func(s steps) {
			s.write(s.Create, "f", "x", true)
			s.must(s.SyncDir(s.dir))
		}, "d/ d/in=5 f=x old=12345", "d/ d/in=5 f=x old=12345"},
		"a name without its bytes": {func(s steps) {
			s.write(s.Create, "f", "x", false)
			s.must(s.SyncDir(s.dir))
		}, "d/ d/in=5 f= old=12345", "d/ d/in=5 f= old=12345"},
		"a rename over a file": {func(s steps) {
			s.write(s.Create, "f", "x", true)
			s.must(s.Rename(s.path("f"), s.path("old")))
		}, "d/ d/in=5 old=12345", "d/ d/in=5 old=x"},
		"a rename whose bytes were not synced": {func(s steps) {
			s.write(s.Create, "f", "x", false)
			s.must(s.Rename(s.path("f"), s.path("old")))
			s.must(s.SyncDir(s.dir))
		}, "d/ d/in=5 old=", "d/ d/in=5 old="},
		"a rename between folders, the new one synced": {func(s steps) {
			s.must(s.Rename(s.path("old"), s.path("d/new")))
			s.must(s.SyncDir(s.path("d")))
		}, "d/ d/in=5 d/new=12345 old=12345", "d/ d/in=5 d/new=12345"},
		"appended bytes": {func(s steps) { s.write(s.Append, "old", "67", false) },
			"d/ d/in=5 old=12345", "d/ d/in=5 old=12345"},
		"appended and synced bytes": {func(s steps) { s.write(s.Append, "old", "67", true) },
			"d/ d/in=5 old=1234567", "d/ d/in=5 old=1234567"},
		"a file that was created again": {func(s steps) { s.write(s.Create, "old", "67", false) },
			"d/ d/in=5 old=12345", "d/ d/in=5 old="},
		"a truncation": {func(s steps) {
			s.must(s.Truncate(s.path("old"), 2))
			s.write(s.Append, "old", "67", false)
		}, "d/ d/in=5 old=12345", "d/ d/in=5 old=12"},
		"a removal": {func(s steps) { s.must(s.Remove(s.path("old"))) }, "d/ d/in=5 old=12345", "d/ d/in=5"},
		"the removal of a folder": {func(s steps) { s.must(s.RemoveAll(s.path("d"))) },
			"d/ d/in=5 old=12345", "old=12345"},
		"the removal of a folder, synced": {func(s steps) {
			s.must(s.RemoveAll(s.path("d")))
			s.must(s.SyncDir(s.dir))
		}, "old=12345", "old=12345"},
		"a link": {func(s steps) { s.must(s.Link(s.path("old"), s.path("d/l"))) },
			"d/ d/in=5 old=12345", "d/ d/in=5 d/l=12345 old=12345"},
		"a folder in a new folder": {func(s steps) {
			s.must(s.MkdirAll(s.path("a/b")))
			s.write(s.Create, "a/b/f", "x", true)
			s.must(s.SyncDir(s.path("a/b")))
			s.must(s.SyncDir(s.path("a")))
		}, "d/ d/in=5 old=12345", "a/ a/b/ a/b/f=x d/ d/in=5 old=12345"},
		"a folder that was renamed": {func(s steps) {
			s.must(s.Rename(s.path("d"), s.path("e")))
			s.write(s.Append, "e/in", "6", true)
			s.must(os.WriteFile(s.path("e/other"), nil, 0o644)) // not through the Crash: durable
		}, "d/ d/in=56 d/other= old=12345", "e/ e/in=56 e/other= old=12345"},
		"a file that went out of a folder that is gone": {func(s steps) {
			s.must(s.Rename(s.path("d/in"), s.path("out")))
			s.must(s.RemoveAll(s.path("d")))
		}, "d/ d/in=5 old=12345", "old=12345 out=5"},
	} {
		for _, namesStay := range []bool{false, true} {
			dir := TempDir(t)
			s := steps{&Crash{PowerLoss: true, NamesStay: namesStay}, t, dir}
			os.WriteFile(s.path("old"), []byte("12345"), 0o644)
			os.Mkdir(s.path("d"), 0o755)
			os.WriteFile(s.path("d/in"), []byte("5"), 0o644)
			tt.do(s)
			s.Now()
			want := tt.want
			if namesStay {
				want = tt.lenient
			}
			if got := s.has(); got != want {
				t.Errorf("%s, names stay %v: %s; want %s", name, namesStay, got, want)
			}
			s.Crash = s.Next() // what is there now is durable
			s.PowerLoss = true
			s.must(s.SyncDir(dir))
			s.Now()
			if got := s.has(); got != want {
				t.Errorf("%s, names stay %v, after another power loss: %s; want %s", name, namesStay, got, want)
			}
		}
	}
}

// TestTransaction: after a crash a transaction is not begun, and one that a crash interrupts fails.
func TestTransaction(t *testing.T) {
	ran := 0
	run := func() error { ran++; return nil }
	c := &Crash{At: 2}
	if err := c.Transaction("rows", run); err != nil || ran != 1 {
		t.Errorf("the first: %v, ran %d times", err, ran)
	}
	if err := c.Transaction("rows", run); !errors.Is(err, ErrCrash) || ran != 1 {
		t.Errorf("the second: %v, ran %d times", err, ran)
	}
	d := &Crash{}
	if err := d.Transaction("rows", func() error { d.Now(); return nil }); !errors.Is(err, ErrCrash) {
		t.Errorf("interrupted: %v", err)
	}
	want := errors.New("no table")
	if err := disk.OS().Transaction("rows", func() error { return want }); err != want {
		t.Errorf("its own error: %v", err)
	}
}
