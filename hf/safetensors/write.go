package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Write writes a file with tensors and free-form strings (metadata may be nil; Python's loaders want {"format": "pt"}).
// The bytes go to a temporary file beside path, are synced, and take path's place in one rename; the folder is synced
// too, so when Write returns nil the file survives a crash, and when it does not, whatever was at path is untouched.
func Write(path string, tensors []Tensor, metadata map[string]string) error {
	err := replace(path, func(w io.Writer) error { return Encode(w, tensors, metadata) })
	if err != nil {
		return fmt.Errorf("safetensors: writing %s: %w", path, err)
	}
	return nil
}

// Encode writes the bytes of a file to w. The same tensors and metadata give the same bytes, whatever their order:
// tensors lie by element size, widest first so that all are aligned, then by name.
func Encode(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	return EncodeEach(w, tensors, metadata, func(t Tensor) ([]byte, error) { return t.Data, nil })
}

// EncodeEach is Encode for tensors that are made one at a time: data is called for each of them, in the order of the
// file, and returns as many bytes as its Data has.
func EncodeEach(w io.Writer, tensors []Tensor, metadata map[string]string, data func(Tensor) ([]byte, error)) error {
	parts := make([]Part, len(tensors))
	for i, t := range tensors {
		parts[i] = Part{Name: t.Name, DType: t.DType, Shape: t.Shape, Write: func(w io.Writer) error {
			bytes, err := data(t)
			if err == nil {
				_, err = w.Write(bytes)
			}
			return err
		}}
	}
	_, write, err := Stream(parts, metadata)
	if err != nil {
		return err
	}
	return write(w)
}

// encodeHeader returns the length and the JSON header, padded with spaces so that the data begin at a multiple of
// eight.
func encodeHeader(tensors []Tensor, sizes []int64, metadata map[string]string) ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	b.WriteByte('{')
	if len(metadata) > 0 {
		m, err := json.Marshal(metadata)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `"__metadata__":%s`, m)
	}
	seen := map[string]bool{"__metadata__": true}
	at := int64(0)
	for i, t := range tensors {
		if seen[t.Name] {
			return nil, fmt.Errorf("tensor %q is given twice", t.Name)
		}
		seen[t.Name] = true
		e := entry{DType: t.DType, Shape: make([]int64, len(t.Shape)), Offsets: []int64{at, at + sizes[i]}}
		for i, d := range t.Shape {
			e.Shape[i] = int64(d)
		}
		at = e.Offsets[1]
		if err := e.check(at); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if b.Len() > 9 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", name, value)
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

// replace writes a new file under a temporary name, syncs it and renames it to path.
func replace(path string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return disk.OS().SyncDir(dir)
}
