package trainer

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Of examples the probability of the token that ends them counts, wherever the template's line feed is; of samples how
// many were cut.
func TestEnding(t *testing.T) {
	half, tenth := float32(math.Log(0.5)), float32(math.Log(0.1))
	example := func(response []int32, stop experience.StopReason) *experience.Experience {
		return &experience.Experience{Tokens: append([]int32{7, 8}, response...), PromptLength: 2, StopReason: stop}
	}
	all := []bool{true, true, true}
	got := endingOf([]int32{2}, []*experience.Experience{
		example([]int32{5, 2, 9}, ""), example([]int32{5, 5, 2}, ""), example([]int32{5, 5, 5}, ""),
		example([]int32{5, 2, 2}, ""), example([]int32{5, 5, 2}, experience.StopStop),
		example([]int32{5, 5, 5}, experience.StopLength),
	}, []algorithm.Sequence{
		{Logprobs: []float32{0, half, 0}, Mask: all}, {Logprobs: []float32{0, 0, tenth}, Mask: all},
		{Logprobs: []float32{0, 0, 0}, Mask: all}, {Logprobs: []float32{0, half, 0}, Mask: []bool{true, true, false}},
		{Logprobs: []float32{0, 0, 0}, Mask: all}, {Logprobs: []float32{0, 0, 0}, Mask: all},
	})
	if got.Examples != 3 || math.Abs(got.Probability-(0.5+0.1+0.5)/3) > 1e-6 || got.Sampled != 2 || got.Cut != 1 {
		t.Errorf("the ending is %+v", got)
	}
}
