package server

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Data folders of commit 44f7082, copied while their server ran, are converted, and their answers stay the same.
func TestOlderFolders(t *testing.T) {
	for _, name := range []string{"log", "snapshots"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			unpack(t, "testdata/folders/44f7082.tar.gz", dir)
			raw, err := os.ReadFile(filepath.Join(dir, name, "answers.json"))
			if err != nil {
				t.Fatal(err)
			}
			var recorded struct {
				Killed                  int `json:"killed_after"`
				Session, Model, Sampler string
				Answers                 []string
			}
			if err := json.Unmarshal(raw, &recorded); err != nil {
				t.Fatal(err)
			}
			for round := range 2 { // once converted, it opens as it is
				r := &rig{t: t, modelDir: tinyModel(t), dir: filepath.Join(dir, name, "data"), fs: disk.OS(),
					key: "tml-alice"}
				if err := r.start(); err != nil {
					t.Fatal(err)
				}
				s := &script{r: r, session: recorded.Session, model: recorded.Model, sampler: recorded.Sampler}
				for i, want := range recorded.Answers {
					if got, err := s.do(i); err != nil || got != want {
						t.Errorf("round %d, request %d: %v\n got %s\nwant %s", round, i, err, got, want)
					}
				}
				r.stop()
			}
		})
	}
}

// unpack writes the files of a gzipped tar below dir.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var raw []byte
			if raw, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, raw, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
