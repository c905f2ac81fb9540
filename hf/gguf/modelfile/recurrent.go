package modelfile

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// Delta is the shape of a gated delta rule: heads of keys, heads of values, and their widths.
type Delta struct{ Keys, Values, KeyDim, ValueDim int }

// kvHeads are the key heads of each layer: a recurrent one has none.
func (s Shape) kvHeads() []int32 {
	list := make([]int32, s.Layers)
	for l := range list {
		if !s.Recurrent[l] {
			list[l] = int32(s.KVHeads)
		}
	}
	return list
}

// deltaPairs are the metadata of Qwen3.5 alone. Text has one position where an image has three, so it does not matter
// how the frequencies are divided between them: as Qwen does, the first of three parts take what is over.
func (s Shape) deltaPairs() []gguf.Pair {
	d, n := s.Delta, int32(s.rotated()/2)
	list := []gguf.Pair{
		{Key: "qwen35.ssm.conv_kernel", Value: uint32(s.Taps)},
		{Key: "qwen35.ssm.state_size", Value: uint32(d.KeyDim)},
		{Key: "qwen35.ssm.group_count", Value: uint32(d.Keys)},
		{Key: "qwen35.ssm.time_step_rank", Value: uint32(d.Values)},
		{Key: "qwen35.ssm.inner_size", Value: uint32(d.Values * d.ValueDim)},
		{Key: "qwen35.attention.recurrent_layers", Value: s.Recurrent},
		{Key: "qwen35.rope.dimension_sections", Value: []int32{(n + 2) / 3, (n + 1) / 3, n / 3, 0}},
	}
	if every := slices.Index(s.Recurrent, false) + 1; every > 0 && s.attendsEvery(every) { // for older readers
		list = append(list, gguf.Pair{Key: "qwen35.full_attention_interval", Value: uint32(every)})
	}
	return list
}

// attendsEvery reports whether of each so many layers the last alone has attention.
func (s Shape) attendsEvery(n int) bool {
	for l, recurrent := range s.Recurrent {
		if recurrent != ((l+1)%n != 0) {
			return false
		}
	}
	return true
}

// decayed makes −exp of each logarithm.
func decayed(x []float32) {
	for i, v := range x {
		x[i] = -float32(elementary.Exp(float64(v)))
	}
}
