package engine

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// An optim_step that finds no memory for the new weights changes nothing: the same one succeeds later, with the bits of
// a run that had the memory.
func TestStepWithoutMemory(t *testing.T) {
	all := lora(0)
	all.TrainAttn, all.TrainMLP, all.TrainUnembed = false, false, false
	finish := func(c tinker.TrainingClient) [][]float32 {
		o, err := c.OptimStep(testContext(t), tinker.OptimStepRequest{Adam: tinker.DefaultAdam()})
		value(t, o, err)
		return logprobs(t, c, mixed...)
	}
	e := open(t, Options{})
	var got [2][][]float32
	for i := range got {
		c := create(t, e, int64(i), all)
		train(t, c, 1, mixed...)
		f, err := c.ForwardBackward(testContext(t), batch(mixed...))
		value(t, f, err)
		if i == 1 {
			r := c.(*training.Run)
			whole := r.Base.Config.Vocab
			r.Base.Config.Vocab = 1 << 42
			o, err := c.OptimStep(testContext(t), tinker.OptimStepRequest{Adam: tinker.DefaultAdam()})
			if err := failure(t, o, err); !strings.Contains(err.Error(), "of memory for weights") {
				t.Errorf("no memory: %v", err)
			}
			r.Base.Config.Vocab = whole
		}
		got[i] = finish(c)
	}
	for i := range mixed {
		if !sameBits(got[1][i], got[0][i]) {
			t.Errorf("sequence %d has other logprobs after a step that failed", i)
		}
	}
}
