package monitor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// logOf writes the lines of five steps and returns the file.
func logOf(t *testing.T, dir string) (path string, whole []byte) {
	t.Helper()
	path = filepath.Join(dir, "metrics.jsonl")
	l, err := openLog(disk.OS(), path, -1)
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= 5; step++ {
		if err := l.write(step, Metrics{"critic/rewards/mean": float64(step) / 7}); err != nil {
			t.Fatal(err)
		}
	}
	l.file.Close()
	if whole, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, whole
}

// A line that is missing or changed stops the run that continues, with the file's name; so does a file that was cut.
func TestMissingLinesAreNoticed(t *testing.T) {
	path, whole := logOf(t, t.TempDir())
	lines := bytes.SplitAfter(whole, []byte("\n"))
	damaged := map[string][]byte{
		"without line 3":        bytes.Join(append(slices.Clone(lines[:2]), lines[3:]...), nil),
		"without the last line": bytes.Join(lines[:4], nil),
		"another number":        bytes.Replace(whole, []byte("0.2857"), []byte("0.9857"), 1),
		"empty":                 nil,
	}
	for what, data := range damaged {
		if bytes.Equal(data, whole) {
			t.Fatalf("%s: nothing is damaged", what)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := openLog(disk.OS(), path, 5); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := openLog(disk.OS(), path, 5)
	if err != nil {
		t.Fatal(err)
	}
	l.file.Close()
}

// Every mutation of the sums themselves leaves the lines as they are, or is refused.
func TestDamagedSums(t *testing.T) {
	path, whole := logOf(t, t.TempDir())
	sums, err := os.ReadFile(path + ".sum")
	if err != nil {
		t.Fatal(err)
	}
	for at := range sums {
		bad := slices.Clone(sums)
		bad[at] ^= 1 << (at % 8)
		for _, mutated := range [][]byte{bad, sums[:at]} {
			if err := os.WriteFile(path+".sum", mutated, 0o644); err != nil {
				t.Fatal(err)
			}
			l, err := openLog(disk.OS(), path, 5)
			if err != nil {
				t.Fatalf("byte %d: %v", at, err)
			}
			l.file.Close()
			if got, _ := os.ReadFile(path); !bytes.Equal(got, whole) {
				t.Fatalf("byte %d: the lines are %s", at, got)
			}
		}
	}
}

// A run that goes back to an earlier step cuts its lines and their sums, and continues.
func TestSumsAreCutBack(t *testing.T) {
	path, whole := logOf(t, t.TempDir())
	l, err := openLog(disk.OS(), path, 3)
	if err != nil {
		t.Fatal(err)
	}
	for step := 4; step <= 5; step++ {
		if err := l.write(step, Metrics{"critic/rewards/mean": float64(step) / 7}); err != nil {
			t.Fatal(err)
		}
	}
	l.file.Close()
	if got, _ := os.ReadFile(path); !bytes.Equal(got, whole) {
		t.Errorf("the lines are\n%s, want\n%s", got, whole)
	}
	if _, err := openLog(disk.OS(), path, 5); err != nil {
		t.Error(err)
	}
}
