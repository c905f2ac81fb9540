package safetensors

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// file returns the bytes of a file with this JSON header and body.
func file(head, body string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	return append(append(b, head...), body...)
}

func TestParseRefuses(t *testing.T) {
	const a = `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for _, tt := range []struct {
		name string
		file []byte
		want error
		text string
	}{
		{"empty", nil, ErrTruncated, "0 bytes"},
		{"no room for the length", []byte{1, 0, 0}, ErrTruncated, "3 bytes"},
		{"header cut", file(`{`+a+`}`, "")[:20], ErrTruncated, "header of"},
		{"body cut", file(`{`+a+`}`, "12345"), ErrTruncated, `tensor "a"`},
		{"huge header", append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, '{'), ErrFormat, "exceeds"},
		{"empty header", file("", ""), ErrFormat, "does not begin"},
		{"not JSON", file(`<html>`, ""), ErrFormat, "does not begin"},
		{"leading space", file(` {}`, ""), ErrFormat, "does not begin"},
		{"open object", file(`{`+a, "12345678"), ErrFormat, "header"},
		{"text after the object", file(`{`+a+`}}`, "12345678"), ErrFormat, "after the header"},
		{"twice", file(`{`+a+`,`+a+`}`, "12345678"), ErrFormat, `"a" occurs twice`},
		{"unknown field", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}}`, "12345678"), ErrFormat,
			`"a"`},
		{"unknown dtype", file(`{"a":{"dtype":"Q4","shape":[2],"data_offsets":[0,8]}}`, "12345678"), ErrFormat,
			`dtype "Q4"`},
		{"no offsets", file(`{"a":{"dtype":"F32","shape":[2]}}`, "12345678"), ErrFormat, "data_offsets"},
		{"three offsets", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}}`, "12345678"), ErrFormat,
			"want two"},
		{"offsets reversed", file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, "12345678"), ErrFormat,
			"data_offsets"},
		{"negative dimension", file(`{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, "12345678"), ErrFormat,
			"shape"},
		{"overflowing shape", file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, ""),
			ErrFormat, "shape"},
		{"size differs", file(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,8]}}`, "12345678"), ErrFormat,
			"needs 4 bytes"},
		{"overlap", file(`{`+a+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, "12345678"), ErrFormat,
			"overlaps"},
		{"gap", file(`{`+a+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[9,10]}}`, "1234567890"), ErrFormat,
			"1 unused"},
		{"bytes after", file(`{`+a+`}`, "123456789"), ErrFormat, "1 bytes after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.file)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	f32 := []float32{0, 1, -2.5, 3e38, float32(math.Inf(1)), 1e-42}
	want := []Tensor{
		FromF32("z.weight", []int{2, 3}, f32),
		FromBF16("a.weight", []int{3}, []float32{1, 1.00390625, 1.01171875}),
		FromF32("empty", []int{0, 4}, nil),
		{Name: `quote"d`, DType: "U8", Shape: []int{}, Data: []byte{7}},
	}
	if err := Write(path, want, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Metadata()["format"]; got != "pt" {
		t.Errorf("metadata format %q, want pt", got)
	}
	for _, w := range want {
		got, err := f.Tensor(w.Name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Data) != string(w.Data) || !reflect.DeepEqual(got.Shape, w.Shape) || got.DType != w.DType {
			t.Errorf("%s: got %v, want %v", w.Name, got, w)
		}
	}
	z, _ := f.Tensor("z.weight")
	if got, err := z.Floats(); err != nil || !reflect.DeepEqual(got, f32) {
		t.Errorf("floats %v, %v; want %v", got, err, f32)
	}
	a, _ := f.Tensor("a.weight")
	if got, err := a.Floats(); err != nil || !reflect.DeepEqual(got, []float32{1, 1, 1.015625}) { // ties go to even
		t.Errorf("bf16 floats %v, %v", got, err)
	}
	if _, err := f.Tensor("missing"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("missing tensor: %v", err)
	}
}

func TestFloat16(t *testing.T) {
	for _, tt := range []struct {
		bits uint16
		want float32
	}{{0x3c00, 1}, {0xc000, -2}, {0x7bff, 65504}, {0x0001, 1.0 / (1 << 24)}, {0x03ff, 1023.0 / (1 << 24)}, {
		0x0400, 1.0 / (1 << 14)}, {0x7c00, float32(math.Inf(1))}, {0x8000, 0}} {
		ten := Tensor{DType: F16, Shape: []int{1}, Data: binary.LittleEndian.AppendUint16(nil, tt.bits)}
		got, err := ten.Floats()
		if err != nil || got[0] != tt.want {
			t.Errorf("%#04x: got %v (%v), want %v", tt.bits, got[0], err, tt.want)
		}
	}
	if _, err := (Tensor{Name: "ids", DType: "I64", Shape: []int{1}, Data: make([]byte, 8)}).Floats(); err == nil ||
		!strings.Contains(err.Error(), `"ids" has dtype I64`) {
		t.Errorf("I64: %v", err)
	}
}

// A failed Write leaves the old file and no litter.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w.safetensors")
	one := []Tensor{FromF32("a", []int{1}, []float32{1})}
	if err := Write(path, one, nil); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	for name, bad := range map[string][]Tensor{
		"twice":       {one[0], one[0]},
		"wrong shape": {FromF32("a", []int{2}, []float32{1})},
	} {
		if err := Write(path, bad, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := Write(filepath.Join(dir, "none", "w"), one, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	after, _ := os.ReadFile(path)
	if string(before) != string(after) {
		t.Error("the old file changed")
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("folder holds %v, want one file", list)
	}
}

// FuzzParse: whatever the bytes, parse returns an error or tensors that cover the body exactly once.
func FuzzParse(f *testing.F) {
	f.Add(file(`{}`, ""))
	f.Add(file(`{"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},`+
		`"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}  `, "123456789"))
	f.Add(file(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parse(data)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("unnamed error %v", err)
			}
			return
		}
		sum := 0
		for _, ten := range h.tensors {
			sum += len(ten.Data)
			n := ten.DType.Size()
			for _, d := range ten.Shape {
				n *= d
			}
			if n != len(ten.Data) {
				t.Fatalf("%v: %d bytes for its shape", ten, len(ten.Data))
			}
		}
		if n := binary.LittleEndian.Uint64(data); sum != len(data)-8-int(n) {
			t.Fatalf("tensors have %d bytes of a body of %d", sum, len(data)-8-int(n))
		}
	})
}

func TestFromFloatsF16(t *testing.T) {
	x, err := FromFloats("x", F16, []int{2}, []float32{65520, float32(math.NaN())})
	if err != nil || x.Bits()[0] != 0x7c00 || x.Bits()[1] != 0x7e00 {
		t.Errorf("%v, %v", x, err)
	}
	if _, err := FromFloats("x", "I32", nil, nil); err == nil {
		t.Error("floats as I32")
	}
}
