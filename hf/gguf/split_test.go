package gguf

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// one is a small F32 tensor whose elements are all v.
func one(name string, v float32) Part {
	return Part{Name: name, Type: F32, Shape: []int64{4}, Write: func(w io.Writer) error {
		raw := make([]byte, 16)
		if err := Narrow(F32, raw, []float32{v, v, v, v}); err != nil {
			return err
		}
		_, err := w.Write(raw)
		return err
	}}
}

// split keys of part no of count.
func splitKeys(no, count uint16, tensors int32) []Pair {
	return []Pair{{"split.no", no}, {"split.count", count}, {"split.tensors.count", tensors}}
}

func writeFile(t *testing.T, path string, pairs []Pair, parts ...Part) {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, pairs, parts); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A model in three files is read by the name of the first, each tensor from the file that has it.
func TestSplit(t *testing.T) {
	dir := t.TempDir()
	at := func(i int) string { return filepath.Join(dir, SplitName("m", i, 3)) }
	head := append([]Pair{{"general.architecture", "llama"}}, splitKeys(0, 3, 3)...)
	writeFile(t, at(1), head) // as llama-gguf-split --no-tensor-first-split makes it
	writeFile(t, at(2), splitKeys(1, 3, 3), one("a", 1), one("b", 2))
	writeFile(t, at(3), splitKeys(2, 3, 3), one("c", 3))
	f, err := Open(at(1))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, tensor := range f.Tensors {
		names = append(names, tensor.Name)
		x := make([]float32, 4)
		if err := f.Floats(tensor, x, 0); err != nil || x[3] != float32(i+1) {
			t.Errorf("%s is %v, %v", tensor.Name, x, err)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("tensors %q", names)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// What does not belong together is refused: the error names the file and what to do.
func TestSplitRefused(t *testing.T) {
	const first, second = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
	for _, tt := range []struct {
		name string
		make func(at func(string) string)
		open string
		want string
	}{
		{"the second part", func(at func(string) string) {
			writeFile(t, at(second), splitKeys(1, 2, 1), one("a", 1))
		}, second, "part 2 of 2 of a model; name the first one, " + first},
		{"a part of another name", func(at func(string) string) {
			writeFile(t, at("x.gguf"), splitKeys(1, 2, 1), one("a", 1))
		}, "x.gguf", "part 2 of 2 of a model; name the first one"},
		{"a first part that was renamed", func(at func(string) string) {
			writeFile(t, at("x.gguf"), splitKeys(0, 2, 1), one("a", 1))
		}, "x.gguf", "its name must end in -00001-of-00002.gguf"},
		{"a part that is missing", func(at func(string) string) {
			writeFile(t, at(first), splitKeys(0, 2, 1), one("a", 1))
		}, first, "part 2 of 2"},
		{"a part of another model", func(at func(string) string) {
			writeFile(t, at(first), splitKeys(0, 2, 2), one("a", 1))
			writeFile(t, at(second), splitKeys(1, 3, 2), one("b", 1))
		}, first, "split.no and split.count are 1 and 3, not 1 and 2"},
		{"a tensor in two parts", func(at func(string) string) {
			writeFile(t, at(first), splitKeys(0, 2, 2), one("a", 1))
			writeFile(t, at(second), splitKeys(1, 2, 2), one("a", 1))
		}, first, "tensor a is in an earlier part too"},
		{"too few tensors", func(at func(string) string) {
			writeFile(t, at(first), splitKeys(0, 2, 9), one("a", 1))
			writeFile(t, at(second), splitKeys(1, 2, 9), one("b", 1))
		}, first, "split.tensors.count says 9"},
		{"a number out of range", func(at func(string) string) {
			writeFile(t, at(first), splitKeys(7, 2, 1), one("a", 1))
		}, first, "there is no such part"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(func(name string) string { return filepath.Join(dir, name) })
			f, err := Open(filepath.Join(dir, tt.open))
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.open) {
				t.Errorf("got %v, want %q and the file's name", err, tt.want)
			}
		})
	}
}

func TestParseSplit(t *testing.T) {
	for path, want := range map[string]bool{"a/m-00001-of-00003.gguf": true, "m-00003-of-00003.gguf": true,
		"m-00004-of-00003.gguf": false, "m-00000-of-00003.gguf": false, "m-1-of-3.gguf": false, "m.gguf": false} {
		if _, _, _, ok := ParseSplit(path); ok != want {
			t.Errorf("%s: %v, want %v", path, ok, want)
		}
	}
}
