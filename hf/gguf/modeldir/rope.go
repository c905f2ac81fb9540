package modeldir

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/internal/layout"
)

// readScaling reads how RoPE is scaled. Llama 3's way is a tensor, see llama3.
func (s *shape) readScaling(r *reader) error {
	prefix := r.arch + ".rope.scaling."
	kind, ok, err := r.m.Text(prefix + "type")
	factor := r.float("rope.scaling.factor", r.float("rope.scale_linear", 1))
	attention := r.float("rope.scaling.attn_factor", 1)
	switch {
	case err != nil || r.err != nil:
		return errors.Join(err, r.err)
	case kind == "yarn" && s.kind == layout.GptOss && attention == 1:
		s.scaling = map[string]any{"rope_type": "yarn", "factor": factor, "truncate": false,
			"original_max_position_embeddings": r.int("rope.scaling.original_context_length", 1<<31, 0),
			"beta_fast":                        r.float("rope.scaling.yarn_beta_fast", 32),
			"beta_slow":                        r.float("rope.scaling.yarn_beta_slow", 1)}
		return r.err
	case ok && kind != "none" && kind != "linear":
		return fmt.Errorf("the key %stype is %q, which is not supported; none, linear and Llama 3's scaling are: "+
			"choose a file of the model without it", prefix, kind)
	case attention != 1:
		return fmt.Errorf("the key %sattn_factor is %v, which is not supported; it must be 1", prefix, attention)
	case kind != "none" && factor != 1:
		s.scaling = map[string]any{"rope_type": "linear", "factor": factor}
	}
	return nil
}

// readFactors reads rope_freqs.weight, if the file has it.
func readFactors(f *gguf.File, s *shape) error {
	for _, name := range []string{"rope_factors_long.weight", "rope_factors_short.weight"} {
		if _, ok := f.Tensor(name); ok {
			return fmt.Errorf("tensor %s belongs to LongRoPE scaling, which is not supported; choose a model with "+
				"linear or Llama 3's scaling", name)
		}
	}
	t, ok := f.Tensor("rope_freqs.weight")
	if !ok {
		return nil
	}
	if len(t.Shape) != 1 || t.Shape[0] != s.headDim/2 {
		return fmt.Errorf("tensor rope_freqs.weight has the shape %v; it must be [%d]", t.Shape, s.headDim/2)
	}
	divisors := make([]float32, s.headDim/2)
	if err := f.Floats(t, divisors, 0); err != nil {
		return err
	}
	return s.llama3(divisors)
}

// llama3 reads Llama 3's scaling back from the divisors of the frequencies, rope_freqs.weight. The published models
// have low_freq_factor 1, high_freq_factor 4 and 8192 positions; other values are refused, as the divisors then differ.
func (s *shape) llama3(divisors []float32) error {
	const low, high, original = 1.0, 4.0, 8192.0
	if s.scaling != nil {
		return errors.New("the file has both a linear scaling of RoPE and the tensor rope_freqs.weight, which is not " +
			"supported; choose another file of the model")
	}
	factor := float64(slices.Max(divisors))
	scaling := layout.Llama3{Factor: factor, Low: low, High: high, Original: original}
	for i, have := range divisors {
		want := scaling.Divisor(s.theta, int64(i), s.headDim)
		if !(math.Abs(want-float64(have)) <= 1e-4*want) { // also if it is not a number
			return fmt.Errorf("tensor rope_freqs.weight scales frequency %d by %v, and Llama 3's way gives %v; such "+
				"scaling is not supported", i, have, want)
		}
	}
	s.scaling = map[string]any{"rope_type": "llama3", "factor": factor, "low_freq_factor": low,
		"high_freq_factor":                 high,
		"original_max_position_embeddings": int64(original)}
	return nil
}
