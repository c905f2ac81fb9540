package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// After a kill or a power loss at any operation, a replaced file is the complete old or the complete new one.
func TestReplaceSurvivesEveryCrash(t *testing.T) {
	for _, power := range []bool{false, true} {
		for at := 1; ; at++ {
			path := filepath.Join(t.TempDir(), "state")
			if err := WriteFile(OS(), path, []byte("old")); err != nil {
				t.Fatal(err)
			}
			fs := &Crash{FS: OS(), At: at, PowerLoss: power}
			err := WriteFile(fs, path, []byte("new content"))
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
			if !errors.Is(err, ErrCrash) {
				t.Fatalf("crash at %d: error %v", at, err)
			}
		}
	}
}

func TestCrashTearsAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for _, tt := range []struct {
		power bool
		want  string
	}{{false, "aaaabb"}, {true, "aaaa"}} {
		os.Remove(path)
		fs := &Crash{FS: OS(), At: 4, PowerLoss: tt.power}
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

func TestReplaceLeavesNothingOnError(t *testing.T) {
	dir := t.TempDir()
	if err := WriteFile(OS(), filepath.Join(dir, "no", "such"), nil); err == nil {
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
		if err := WriteNew(OS(), path, strconv.Itoa(i), []byte(text)); err != nil {
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
