// Package gguf reads GGUF files, in which llama.cpp and Ollama keep models: metadata, and tensors in quantised blocks.
//
// The format follows ggml/src/gguf.cpp and gguf-py of llama.cpp 0c1e57098, versions 2 and 3. A file is not trusted:
// every length is compared with the bytes that are left before anything is allocated by it, and errors name the file,
// the key or tensor, and the offset.
package gguf

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Tensor is one tensor of a file.
type Tensor struct {
	Name string
	Type Type
	// Shape lists the sizes as torch does, the slowest first: [out, in] for a matrix. The file has them the other way.
	Shape []int64

	part   int   // of File.parts
	offset int64 // in that file
	size   int64 // bytes
}

// Len is how many elements a tensor has.
func (t Tensor) Len() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of the tensor's data in the file.
func (t Tensor) Bytes() int64 { return t.size }

// File is an open GGUF file, or all files of a model that was split. Its methods are safe for concurrent use.
type File struct {
	Metadata Metadata // of the first file
	Tensors  []Tensor // in the order of the files

	parts []part
	close []func() error
}

// part is one file.
type part struct {
	path string
	data io.ReaderAt
}

// Open reads the head of a file: its metadata and where its tensors are. If the file is the first of several, the
// others are read too.
func Open(path string) (*File, error) {
	f, err := openOne(path)
	if err != nil {
		return nil, err
	}
	if err := f.join(path); err != nil {
		return nil, errors.Join(fmt.Errorf("gguf: %s: %w", path, err), f.Close())
	}
	return f, nil
}

// openOne opens a single file.
func openOne(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gguf: %s: %w", path, err), f.Close())
	}
	g, err := Read(f, st.Size(), path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	g.close = []func() error{f.Close}
	return g, nil
}

// Close closes the files.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.close {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Path is the path of the file, or of the first of several.
func (f *File) Path() string { return f.parts[0].path }

// Tensor returns the tensor of a name.
func (f *File) Tensor(name string) (Tensor, bool) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
}

// Raw reads bytes of a tensor as they are stored, from offset on: len(to) bytes.
func (f *File) Raw(t Tensor, to []byte, offset int64) error {
	p := f.parts[t.part]
	if offset < 0 || offset > t.size-int64(len(to)) {
		return fmt.Errorf("gguf: %s: tensor %s has %d bytes; %d from %d on are not among them", p.path, t.Name,
			t.size, len(to), offset)
	}
	if _, err := p.data.ReadAt(to, t.offset+offset); err != nil {
		return fmt.Errorf("gguf: %s: tensor %s: %d bytes at byte %d: %w", p.path, t.Name, len(to), t.offset+offset, err)
	}
	return nil
}

// Floats reads elements of a tensor, from element first on, widened to float32. first and len(to) must be multiples of
// the type's block.
func (f *File) Floats(t Tensor, to []float32, first int64) error {
	l, _ := layouts(t.Type)
	if l.widen == nil {
		return fmt.Errorf("gguf: %s: tensor %s is stored as %s, which is not read; convert the model to another type "+
			"with llama-quantize, such as Q8_0", f.parts[t.part].path, t.Name, t.Type)
	}
	if first%l.n != 0 || int64(len(to))%l.n != 0 {
		return fmt.Errorf("gguf: tensor %s: elements %d to %d do not begin and end at blocks of %d", t.Name, first,
			first+int64(len(to)), l.n)
	}
	raw := make([]byte, int64(len(to))/l.n*l.size)
	if err := f.Raw(t, raw, first/l.n*l.size); err != nil {
		return err
	}
	return Widen(t.Type, to, raw)
}

// Widen turns whole blocks of a type into float32s: len(to) elements.
func Widen(t Type, to []float32, blocks []byte) error {
	l, _ := layouts(t)
	if l.widen == nil || int64(len(to))%l.n != 0 || int64(len(blocks)) != int64(len(to))/l.n*l.size {
		return fmt.Errorf("gguf: %d bytes of %s are not %d elements", len(blocks), t, len(to))
	}
	for i := range int64(len(to)) / l.n {
		l.widen(to[i*l.n:(i+1)*l.n], blocks[i*l.size:(i+1)*l.size])
	}
	return nil
}
