package modeldir

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/safetensors"
)

// stack is the matrices or biases of the experts of a layer that are one tensor in the folder, where those of an expert
// take turns: rows of gate and up, by expert.
type stack struct {
	name string
	rows [][]rows // [experts][turns]
	bias bool
}

// stacks puts the experts, by their names, into the tensors that transformers has for them.
func (s *shape) stacks(found map[string]rows) (list []stack) {
	if s.mxfp4 = len(found) > 0; !s.mxfp4 {
		return nil // another family
	}
	for i := range 4 * s.layers {
		at := fmt.Sprintf("model.layers.%d.mlp.experts.", i/4)
		k, parts, kind := stack{name: at + "gate_up_proj", bias: i%2 == 1}, []string{"gate_proj", "up_proj"}, ".weight"
		if i/2%2 == 1 {
			k.name, parts = at+"down_proj", []string{"down_proj"}
		}
		if k.bias {
			kind = ".bias"
		}
		for e := range s.experts {
			var turns []rows
			for _, part := range parts {
				r := found[fmt.Sprint(at, e, ".", part, kind)]
				turns, s.mxfp4 = append(turns, r), s.mxfp4 && (k.bias || r.tensor.Type == gguf.MXFP4)
			}
			k.rows = append(k.rows, turns)
		}
		list = append(list, k)
	}
	return list
}

// parts are the tensors of a stack in the folder.
func (k stack) parts(ctx context.Context, f *gguf.File, mxfp4 bool) []safetensors.Part {
	one := k.rows[0][0]
	experts, turns, in := len(k.rows), len(k.rows[0]), int(one.width)
	out := int(one.n) * turns
	switch {
	case k.bias:
		return []safetensors.Part{{Name: k.name + "_bias", DType: safetensors.BF16, Shape: []int{experts, in * turns},
			Write: func(to io.Writer) error { return k.write(ctx, f, to) }}}
	case mxfp4:
		blocks := func(to io.Writer) error { return k.codes(ctx, f, to, codesOf) }
		scales := func(to io.Writer) error { return k.codes(ctx, f, to, scalesOf) }
		return []safetensors.Part{
			{Name: k.name + "_blocks", DType: "U8", Shape: []int{experts, out, in / 32, 16}, Write: blocks},
			{Name: k.name + "_scales", DType: "U8", Shape: []int{experts, out, in / 32}, Write: scales}}
	}
	return []safetensors.Part{{Name: k.name, DType: safetensors.BF16, Shape: []int{experts, in, out},
		Write: func(to io.Writer) error { return k.write(ctx, f, to) }}}
}

// write writes matrices in bf16, transposed, or biases.
func (k stack) write(ctx context.Context, f *gguf.File, to io.Writer) error {
	for _, turns := range k.rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, in := int(turns[0].n), int(turns[0].width)
		if k.bias { // each element has a turn
			n, in = in, 1
		}
		list, all := make([]float32, n*in), make([]float32, n*in*len(turns))
		for i, r := range turns {
			if err := r.read(f, list, 0); err != nil {
				return err
			}
			for j, v := range list {
				all[j%in*n*len(turns)+j/in*len(turns)+i] = v
			}
		}
		out := make([]byte, 2*len(all))
		narrow(out, all)
		if _, err := to.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// codes writes what of takes from the groups of 32 of each row.
func (k stack) codes(ctx context.Context, f *gguf.File, to io.Writer, of func(out, block []byte) []byte) error {
	for _, turns := range k.rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		raw := make([]byte, turns[0].width/32*17)
		var out []byte
		for row := range turns[0].n {
			for _, r := range turns {
				if err := f.Raw(r.tensor, raw, (r.at+row*r.width)/32*17); err != nil {
					return err
				}
				for g := 0; g < len(raw); g += 17 {
					out = of(out, raw[g:g+17])
				}
			}
		}
		if _, err := to.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// codesOf adds the codes of a group as transformers has them, neighbours in a byte: llama.cpp has an element of the
// first half of a group in the low bits, and of the second above.
func codesOf(out, block []byte) []byte {
	code := func(i int) byte { return block[1+i%16] >> (i / 16 * 4) & 15 }
	for i := 0; i < 32; i += 2 {
		out = append(out, code(i)|code(i+1)<<4)
	}
	return out
}

func scalesOf(out, block []byte) []byte { return append(out, block[0]) }
