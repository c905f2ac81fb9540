package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Limits of a head; no published model comes near them.
const (
	maxPairs     = 1 << 16
	maxTensors   = 1 << 20
	maxText      = 16 << 20 // bytes of one string, Ollama's limit
	maxElements  = 64 << 20 // of one array, Ollama's limit
	maxKey       = 1<<16 - 1
	maxName      = 63
	maxAlignment = 1 << 20
	maxHead      = 1 << 30 // bytes in all
)

// head reads the head of a file in order and counts how much is left.
type head struct {
	r    *bufio.Reader
	at   int64 // bytes read
	size int64 // of the file
	buf  [8]byte
	err  error // the first one; reads after it return zeros
}

// left is how many bytes there are behind those read.
func (h *head) left() int64 { return h.size - h.at }

func (h *head) fail(format string, args ...any) {
	if h.err == nil {
		h.err = fmt.Errorf("at byte %d: %w", h.at, fmt.Errorf(format, args...))
	}
}

// bytes reads n bytes, which must be at most 8 or checked against what is left before.
func (h *head) bytes(n int64) []byte {
	to := h.buf[:]
	if n > 8 {
		to = make([]byte, n)
	}
	to = to[:n]
	if h.err != nil || n > h.left() {
		h.fail("the file ends within a value of %d bytes", n)
		clear(to)
		return to
	}
	if _, err := io.ReadFull(h.r, to); err != nil {
		h.fail("%w", err)
		clear(to)
	}
	h.at += n
	return to
}

func (h *head) u32() uint32 { return binary.LittleEndian.Uint32(h.bytes(4)) }
func (h *head) u64() uint64 { return binary.LittleEndian.Uint64(h.bytes(8)) }

// text reads a string of at most most bytes.
func (h *head) text(most uint64) string {
	n := h.u64()
	switch {
	case h.err != nil:
		return ""
	case n > uint64(h.left()):
		h.fail("a string of %d bytes does not fit into the %d bytes left", n, h.left())
		return ""
	case n > most:
		h.fail("a string has %d bytes; at most %d are read", n, most)
		return ""
	}
	return string(h.bytes(int64(n)))
}

// Read reads the head of a file of size bytes. path is for errors.
func Read(r io.ReaderAt, size int64, path string) (*File, error) {
	h := &head{r: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 1<<16), size: size}
	f := &File{Metadata: Metadata{path: path}, parts: []part{{path, r}}}
	h.read(f)
	if h.err != nil {
		return nil, fmt.Errorf("gguf: %s: %w", path, h.err)
	}
	return f, nil
}

func (h *head) read(f *File) {
	tensors, pairs := h.preamble()
	h.pairs(&f.Metadata, pairs)
	alignment := h.alignment(f.Metadata)
	h.tensors(f, tensors)
	if h.err == nil {
		h.err = place(f.Tensors, h.at, alignment, h.size)
	}
}

// preamble reads magic, version and counts.
func (h *head) preamble() (tensors, pairs uint64) {
	if magic := string(h.bytes(4)); h.err == nil && magic != "GGUF" {
		h.fail("the file begins with %q and not with GGUF; is it a GGUF file?", magic)
	}
	switch version := h.u32(); {
	case h.err != nil:
	case version&0xffff == 0 && version != 0:
		h.fail("the file is big-endian; convert it with gguf_convert_endian.py of llama.cpp")
	case version == 1:
		h.fail("the file has version 1, which is no longer used; download the model again")
	case version < 2 || version > 3:
		h.fail("the file has version %d; versions 2 and 3 are read", version)
	}
	tensors, pairs = h.u64(), h.u64()
	if tensors > uint64(h.left()/33+1) || tensors > maxTensors {
		h.fail("%d tensors do not fit into %d bytes, or are more than %d", tensors, h.left(), maxTensors)
	}
	if pairs > uint64(h.left()/13+1) || pairs > maxPairs {
		h.fail("%d metadata keys do not fit into %d bytes, or are more than %d", pairs, h.left(), maxPairs)
	}
	return tensors, pairs
}
