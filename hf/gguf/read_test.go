package gguf

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// container is a small file and what llama.cpp says of it.
type container struct {
	Hex    string
	Header string `json:"header_only"`
}

func containers(tb testing.TB) map[string]container {
	tb.Helper()
	data, err := os.ReadFile("testdata/gguf_container.json")
	if err != nil {
		tb.Fatal(err)
	}
	var all map[string]container
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func (c container) bytes(tb testing.TB) []byte {
	tb.Helper()
	raw, err := hex.DecodeString(c.Hex)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// Files are judged as by llama.cpp, with these exceptions.
func TestContainers(t *testing.T) {
	otherwise := map[string]string{ // and why
		"gap":            "accepted: tensors need not be dense to be read",
		"swapped order":  "accepted: nor in order",
		"0 dims":         "refused: no model has such a tensor",
		"dim 0":          "refused: likewise",
		"truncated data": "refused: the data is compared with the file's length at once",
	}
	errors := map[string]string{"dup tensor": `"a", which is there twice`, "dup key": "is there twice",
		"unaligned": "not a multiple of the alignment 32", "5 dims": "has 5 dimensions", "dim 0": "dimension of size 0",
		"nested array": `key "x" has a list of elements of type 9`, "bad type 31": "Q4_0_4_4 (removed)",
		"bad type 4": "Q4_2 (removed)", "align 24": "general.alignment is 24", "v1": "version 1", "v4": "version 4",
		"big endian v3": "big-endian", "n_kv 2^60": "metadata keys do not fit", "n_tensors 2^60": "tensors do not fit",
		"name 64": "a string has 64 bytes; at most 63", "truncated data": "and the file has",
		"row not multiple": "rows of 31 elements"}
	place := regexp.MustCompile(`(byte|offset) \d+`)
	for name, c := range containers(t) {
		raw := c.bytes(t)
		f, err := Read(bytes.NewReader(raw), int64(len(raw)), name+".gguf")
		accepted := c.Header == "accepted"
		if why, differs := otherwise[name]; differs {
			accepted = strings.HasPrefix(why, "accepted")
		}
		switch {
		case accepted && err != nil:
			t.Errorf("%s: %v", name, err)
		case !accepted && err == nil:
			t.Errorf("%s: was accepted", name)
		case !accepted && (!strings.Contains(err.Error(), errors[name]) ||
			!strings.HasPrefix(err.Error(), "gguf: "+name+".gguf: ")):
			t.Errorf("%s: %v, want %q", name, err, errors[name])
		case !accepted && !place.MatchString(err.Error()):
			t.Errorf("%s: the error names no place: %v", name, err)
		case accepted && f.Metadata.Len() == 0:
			t.Errorf("%s: no metadata", name)
		}
	}
}

// The data of a tensor is read whole and in parts.
func TestFloats(t *testing.T) {
	raw := containers(t)["ok"].bytes(t)
	f, err := Read(bytes.NewReader(raw), int64(len(raw)), "ok.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, tensor := range f.Tensors {
		whole := make([]float32, tensor.Len())
		if err := f.Floats(tensor, whole, 0); err != nil {
			t.Fatal(err)
		}
		l, _ := layouts(tensor.Type)
		for at := int64(0); at < tensor.Len(); at += l.n {
			part := make([]float32, l.n)
			if err := f.Floats(tensor, part, at); err != nil {
				t.Fatal(err)
			}
			for i, v := range part {
				if v != whole[at+int64(i)] {
					t.Fatalf("%s: element %d is %v alone and %v in all", tensor.Name, at+int64(i), v,
						whole[at+int64(i)])
				}
			}
		}
		if err := f.Floats(tensor, make([]float32, l.n), tensor.Len()); err == nil {
			t.Errorf("%s: elements after the last one were read", tensor.Name)
		}
	}
	if s, ok, err := f.Metadata.Text("general.architecture"); !ok || err != nil || s == "" {
		t.Errorf("architecture %q, %v, %v", s, ok, err)
	}
	if _, _, err := f.Metadata.Int("general.architecture"); err == nil ||
		!strings.Contains(err.Error(), "key general.architecture is a string; it must be an integer") {
		t.Errorf("a string as a number: %v", err)
	}
}

// Whatever the bytes, reading ends with a file that can be read, or an error that names it.
func FuzzRead(f *testing.F) {
	for _, c := range containers(f) {
		f.Add(c.bytes(f))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		g, err := Read(bytes.NewReader(raw), int64(len(raw)), "x.gguf")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "gguf: x.gguf: ") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for _, tensor := range g.Tensors {
			if tensor.Len() <= 1<<20 {
				if err := g.Floats(tensor, make([]float32, tensor.Len()), 0); err != nil {
					t.Errorf("%s of an accepted file: %v", tensor.Name, err)
				}
			}
		}
	})
}
