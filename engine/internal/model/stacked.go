package model

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// Files of gpt-oss have one tensor for all experts of a layer. Rows of gate_up are gate, up, gate, up, …:
//
//	gate_up_proj         [E,D,2F]       transposed, as down_proj [E,F,D]
//	gate_up_proj_blocks  [E,2F,D/32,16] in MXFP4 (OCP Microscaling Formats 1.0): two columns a byte, the first low
//	gate_up_proj_scales  [E,2F,D/32]    a power of two for each block, less 127
//	gate_up_proj_bias    [E,2F]
//
// A number of MXFP4 has two binary digits, so it is exact in bf16, which it is read as.

// stack is such a tensor as rows [rows,width] of each expert; a bias has the width 1.
type stack struct {
	file                 *safetensors.File
	dtype                safetensors.DType
	experts, rows, width int
	four                 bool // rows are read in MXFP4, as kernel.ElementMXFP4 has them
	read                 func(e, row int, to []byte)
}

// expertsAt is the folder of experts below a layer.
const expertsAt = ".mlp.experts."

// unstack adds the matrices and biases of single experts, by their own names.
func (f fileSource) unstack() {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		i := strings.Index(name, expertsAt)
		if i < 0 {
			continue
		}
		at, kind, t := name[:i+len(expertsAt)], name[i+len(expertsAt):], f[name]
		before, suffix, _ := strings.Cut(kind, "_proj")
		parts := stackedParts(before + "_proj")
		if s, ok := f.stack(name, suffix, t); ok && parts != nil {
			f.spread(s, at, parts, suffix == "_bias")
		}
	}
}

// Unstacked returns the names of the matrices that are stacked in a tensor of that name, expert by expert; nil if none
// are. Those of MXFP4 are named by their blocks.
func (f *Files) Unstacked(name string) (list []string) {
	i := strings.Index(name, expertsAt)
	if i < 0 {
		return nil
	}
	parts := stackedParts(strings.TrimSuffix(name[i+len(expertsAt):], "_blocks"))
	for e := 0; len(parts) > 0; e++ {
		for _, part := range parts {
			part = fmt.Sprintf("%s%d.%s.weight", name[:i+len(expertsAt)], e, part)
			if f.tensors[part].part == nil {
				return list
			}
			list = append(list, part)
		}
	}
	return nil
}

// Dequantised replaces MXFP4 in the list of a file's tensors by bf16 without data.
func Dequantised(list []safetensors.Tensor) (out []safetensors.Tensor) {
	for _, t := range list {
		name, blocks := strings.CutSuffix(t.Name, "_blocks")
		if blocks && len(t.Shape) == 4 {
			shape := []int{t.Shape[0], t.Shape[2] * 2 * t.Shape[3], t.Shape[1]}
			t = safetensors.Tensor{Name: name, DType: safetensors.BF16, Shape: shape}
		}
		if !strings.HasSuffix(t.Name, "_scales") {
			out = append(out, t)
		}
	}
	return out
}

// stackedParts are the matrices of an expert in a tensor of that name, whose rows take turns.
func stackedParts(name string) []string {
	switch name {
	case "gate_up_proj":
		return []string{"gate_proj", "up_proj"}
	case "down_proj":
		return []string{"down_proj"}
	}
	return nil
}

// stack reads the shape of a tensor of several experts.
func (f fileSource) stack(name, suffix string, t fileTensor) (s stack, ok bool) {
	s = stack{file: t.file, dtype: t.DType}
	size, n := t.DType.Size(), len(t.Shape)
	if n < 2 || t.Shape[0] > min(1<<12, len(t.Data)) { // an expert has a byte at least
		return s, false
	}
	s.experts, s.rows, s.width = t.Shape[0], t.Shape[n-1], 1
	switch {
	case suffix == "_bias" && n == 2:
		s.read = func(e, row int, to []byte) { copy(to, t.Data[(e*s.rows+row)*size:][:size]) }
	case suffix == "" && n == 3:
		s.width = t.Shape[1]
		s.read = func(e, row int, to []byte) {
			for k := range s.width {
				copy(to[k*size:], t.Data[((e*s.width+k)*s.rows+row)*size:][:size])
			}
		}
	case suffix == "_blocks" && n == 4 && s.rows == 16 && size == 1:
		scales := f[strings.TrimSuffix(name, suffix)+"_scales"]
		groups := t.Shape[2]
		s.dtype, s.rows, s.width, s.four = safetensors.BF16, t.Shape[1], groups*32, true
		s.read = func(e, row int, to []byte) {
			for g := range groups {
				at := (e*s.rows+row)*groups + g
				to[g*17] = scales.Data[at]
				copy(to[g*17+1:], t.Data[at*16:][:16])
			}
		}
		return s, slices.Equal(scales.Shape, t.Shape[:3]) && scales.DType.Size() == 1
	default:
		return s, false
	}
	return s, true
}

// spread adds the parts of a stack.
func (f fileSource) spread(s stack, at string, parts []string, bias bool) {
	size, shape, suffix := s.width*s.dtype.Size(), []int{s.width}, ".weight"
	if s.four {
		size = s.width / 32 * 17
	}
	if bias {
		shape, suffix = nil, ".bias"
	}
	for e := range s.experts {
		for i, part := range parts {
			name := fmt.Sprintf("%s%d.%s%s", at, e, part, suffix)
			if _, there := f[name]; there {
				continue
			}
			rows := func(a, b int) []byte {
				out := make([]byte, (b-a)*size)
				for row := a; row < b; row++ {
					s.read(e, i+row*len(parts), out[(row-a)*size:][:size])
				}
				return out
			}
			one := fileTensor{file: s.file, part: rows, Tensor: safetensors.Tensor{Name: name, DType: s.dtype,
				Shape: append([]int{s.rows / len(parts)}, shape...)}}
			if s.four {
				one.four, one.part = rows, func(a, b int) []byte { return widenMXFP4(rows(a, b), s.width) }
			}
			f[name] = one
		}
	}
}

// mxfp4 reports whether all experts of a model are in MXFP4.
func (f fileSource) mxfp4(c Config) bool {
	for l := range c.Layers {
		for _, linear := range blockLinears(c, l)[2:] {
			for _, name := range linear.names {
				if strings.Contains(name, expertsAt) && f[name].four == nil {
					return false
				}
			}
		}
	}
	return true
}

// widenMXFP4 returns rows in MXFP4 as bf16.
func widenMXFP4(rows []byte, width int) []byte {
	r := kernel.Rows{Data: rows, Element: kernel.ElementMXFP4, K: width}
	wide := make([]float32, r.Len()*width)
	r.Widen(wide)
	out := make([]byte, 2*len(wide))
	for i, v := range wide {
		binary.LittleEndian.PutUint16(out[2*i:], uint16(math.Float32bits(v)>>16))
	}
	return out
}
