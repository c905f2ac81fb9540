package modelfile

import (
	"cmp"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// Granite has the factors of Granite alone; 0 is none. Logits are divided by Logits.
type Granite struct {
	Embedding, Residual, Scores, Logits float64
}

// granitePairs are the metadata of Granite alone. llama.cpp calls a model without rotation one whose RoPE was not
// finetuned, and wants the divisor of logits even if it is 1.
func (s Shape) granitePairs() []gguf.Pair {
	var list []gguf.Pair
	if s.Still {
		list = append(list, gguf.Pair{Key: "granite.rope.scaling.finetuned", Value: false})
	}
	for _, f := range []struct {
		key   string
		value float64
	}{{"embedding_scale", s.Granite.Embedding}, {"residual_scale", s.Granite.Residual},
		{"attention.scale", s.Granite.Scores}, {"logit_scale", cmp.Or(s.Granite.Logits, 1)}} {
		if f.value != 0 {
			list = append(list, gguf.Pair{Key: "granite." + f.key, Value: float32(f.value)})
		}
	}
	return list
}
