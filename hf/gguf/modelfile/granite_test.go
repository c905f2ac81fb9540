package modelfile

import (
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// Factors that a Granite lacks are left out, but for the divisor of logits.
func TestGranitePairs(t *testing.T) {
	got := Shape{Still: true, Granite: &Granite{Residual: 0.25}}.granitePairs()
	want := []gguf.Pair{{Key: "granite.rope.scaling.finetuned", Value: false},
		{Key: "granite.residual_scale", Value: float32(0.25)}, {Key: "granite.logit_scale", Value: float32(1)}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
