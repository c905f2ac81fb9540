package nn

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// YaRNScaling is the rope_type "yarn" (arXiv 2309.00071, and _compute_yarn_parameters of Hugging Face transformers
// 5.24): pairs that turn more than Fast times within the original context keep their frequency, those that turn less
// than Slow times are divided by Factor, and those between are interpolated by their place.
type YaRNScaling struct {
	Factor, Fast, Slow, OriginalMax float64
	Whole                           bool // the bounds between the kinds of pairs are whole pairs
}

// Attention is the factor of cosines and sines, where the model names none, for one of its multiples of the logarithm.
func (s YaRNScaling) Attention(multiple float64) float64 {
	if s.Factor <= 1 {
		return 1
	}
	return float64(0.1*multiple*elementary.Log(s.Factor)) + 1
}

func (s *YaRNScaling) check() error {
	if s == nil || s.Factor > 0 && s.Slow > 0 && s.Fast > 0 && s.OriginalMax > 0 && !math.IsInf(s.OriginalMax, 0) {
		return nil
	}
	return fmt.Errorf("rope_type yarn needs factor, beta_slow, beta_fast and original_max_position_embeddings, all "+
		"positive, got %+v", *s)
}

// scale changes the frequencies of c, which are not scaled yet.
func (s *YaRNScaling) scale(f []float32, c RoPEConfig) {
	if s == nil {
		return
	}
	low, high := s.pair(s.Fast, c), s.pair(s.Slow, c)
	if s.Whole {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(c.Dim-1))
	if low == high {
		high += 0.001
	}
	for i := range f {
		ramp := min(max((float32(i)-float32(low))/float32(high-low), 0), 1)
		keep := 1 - ramp
		pos := float32(elementary.Pow(c.Theta, float64(float32(2*i)/float32(c.Dim))))
		f[i] = float32(1/float32(float32(s.Factor)*pos)*(1-keep)) + float32(1/pos*keep)
	}
}

// pair is the place of the pair that turns so many times within the original context.
func (s *YaRNScaling) pair(turns float64, c RoPEConfig) float64 {
	return float64(c.Dim) * elementary.Log(s.OriginalMax/(turns*2*math.Pi)) / (2 * elementary.Log(c.Theta))
}
