package buffer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func openJSONL(t *testing.T, path string, keep int64) *JSONL {
	t.Helper()
	w, err := OpenJSONL(disk.OS(), path, keep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestJSONL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "buffer", "experience_buffer.jsonl")
	w := openJSONL(t, path, -1)
	if err := w.Write(map[string]string{"a": "<é>"}, 2); err != nil {
		t.Fatal(err)
	}
	committed := w.Size()
	if err := w.Write("not committed"); err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, path), "{\"a\":\"<é>\"}\n2\n\"not committed\"\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	w = openJSONL(t, path, committed)
	if err := w.WriteExperiences(list(1, 1)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(contents(t, path), "\n")
	if len(lines) != 4 || lines[1] != "2" || !strings.HasPrefix(lines[2], `{"eid":{"batch":"","task":"t"`) {
		t.Errorf("after going back the file is %q", lines)
	}
}

func TestJSONLCutsATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	long := strings.Repeat("x", 100_000) // more than one block of the search
	for _, tt := range []struct{ file, want string }{
		{"1\n2\n{\"torn", "1\n2\n"}, {"1\n", "1\n"}, {"torn", ""}, {"", ""}, {"1\n" + long, "1\n"},
	} {
		if err := os.WriteFile(path, []byte(tt.file), 0o644); err != nil {
			t.Fatal(err)
		}
		openJSONL(t, path, -1)
		if got := contents(t, path); got != tt.want {
			t.Errorf("%.20q opened is %.20q, want %q", tt.file, got, tt.want)
		}
	}
}

func TestJSONLRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJSONL(disk.OS(), path, 10); err == nil ||
		!strings.Contains(err.Error(), "has 2 bytes but 10 were committed") {
		t.Errorf("error of a file shorter than its commit = %v", err)
	}
	w := openJSONL(t, path, -1)
	if err := w.Write(1, func() {}); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("error of a row that is no JSON = %v", err)
	}
	if got := contents(t, path); got != "1\n" {
		t.Errorf("a refused write changed the file to %q", got)
	}
}
