package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
)

// A data folder from before v0.2 is refused, neither cut off nor repaired, with the version that converts it.
func TestRefusesFoldersBeforeV02(t *testing.T) {
	dir := t.TempDir()
	unpack(t, "testdata/folders/44f7082.tar.gz", dir)
	r := &rig{t: t, modelDir: tinyModel(t), dir: filepath.Join(dir, "log", "data"), fs: disk.OS(), key: "tml-alice"}
	if err := r.start(); err == nil || !strings.Contains(err.Error(), "v0.2") {
		t.Errorf("starting gives %v", err)
	}
	log := filepath.Join(r.dir, "server", state.LogName)
	before, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := Repair(filepath.Dir(log), func(string) {}); err == nil || !strings.Contains(err.Error(), "v0.2") {
		t.Errorf("repairing gives %v", err)
	}
	if after, err := os.ReadFile(log); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the log was changed (%v)", err)
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
