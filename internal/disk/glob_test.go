package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

func TestGlob(t *testing.T) {
	for _, name := range []string{"plain", "grpo[1]", "a*b?", "[", `back\slash`, "[a-"} {
		dir := filepath.Join(t.TempDir(), name)
		var want []string
		for _, file := range []string{"step_1", "step_10", "step_2"} {
			path := filepath.Join(dir, file, "note.txt")
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			want = append(want, path)
		}
		if got, err := disk.Glob(dir, "step_*/note.txt"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
		folder := []string{filepath.Join(dir, "step_2")}
		if got, err := disk.Glob(dir, "step_2/"); err != nil || !slices.Equal(got, folder) {
			t.Errorf("%s: with a slash at the end: %q, %v", name, got, err)
		}
		if got, err := disk.Glob(filepath.Join(dir, "none"), "*"); err != nil || len(got) > 0 {
			t.Errorf("%s: a missing folder has %q, %v", name, got, err)
		}
	}
	if got, err := disk.Glob("", "glob_t*.go"); err != nil || !slices.Equal(got, []string{"glob_test.go"}) {
		t.Errorf("in the working folder: %q, %v", got, err)
	}
}
