package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name string
	mode int64
	data []byte
}

// epoch is the time of all files in archives, the first that zip can express.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// archive is the binary with its licence and README: a zip for Windows, otherwise tar.gz.
func archive(b binary) (name string, data []byte, err error) {
	name = "trinity-" + b.version + "-" + b.os + "-" + b.arch
	entries := []entry{{path.Join(name, b.program()), 0o755, b.data}}
	for _, file := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", nil, err
		}
		entries = append(entries, entry{path.Join(name, file), 0o644, data})
	}
	if b.os == "windows" {
		data, err = zipped(entries)
		return name + ".zip", data, err
	}
	data, err = tarred(entries)
	return name + ".tar.gz", data, err
}

// zipped makes a zip archive of entries.
func zipped(entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: epoch()}
		h.SetMode(os.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write(e.data)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// tarred makes a tar.gz archive of entries.
func tarred(entries []entry) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: epoch(),
			Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(e.data)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return out.Bytes(), err
}
