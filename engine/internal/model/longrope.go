package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// The rope_type "longrope" of Phi-3.5 and Phi-4-mini (arXiv 2402.13753, and _compute_longrope_parameters of Hugging
// Face transformers 5.24) divides the frequency of each pair by a number of one of two lists. transformers takes
// short_factor until a call reaches past original_max_position_embeddings, and then long_factor for new positions;
// cached keys keep the short one. So a logit would depend on how its sequence was cut into calls.
//
// Here the list is a function of config.json alone: short_factor. The context ends at original_max_position_embeddings,
// so every sequence has transformers' numbers. If both lists are equal, the context is max_position_embeddings. For
// longer sequences, write long_factor's numbers in the place of short_factor's in a copy of the folder: transformers
// then agrees at every length.

// longRoPE reads rope_type longrope.
func (h *hfConfig) longRoPE(c *Config, s *hfRoPE) error {
	if err := s.whole(); err != nil {
		return err
	}
	if s.Theta != nil {
		c.RoPE.Theta = *s.Theta
	}
	for _, l := range []struct {
		key  string
		list []float32
	}{{"short_factor", s.Short}, {"long_factor", s.Long}} {
		if len(l.list) != c.RoPE.Dim/2 {
			return fmt.Errorf("%s of rope_type longrope has %d numbers, want %d, one for each pair of a head", l.key,
				len(l.list), c.RoPE.Dim/2)
		}
	}
	factor := cmp.Or(s.Factor, float64(h.MaxPos)/s.OriginalMax)
	c.RoPE.Divide = s.Short
	switch {
	case s.Attention != nil:
		c.RoPE.Scale = *s.Attention
	case factor > 1 && s.OriginalMax > 1:
		c.RoPE.Scale = math.Sqrt(1 + elementary.Log(factor)/elementary.Log(s.OriginalMax))
	}
	if s.OriginalMax >= 1 && s.OriginalMax < float64(c.MaxPos) && !slices.Equal(s.Short, s.Long) {
		c.MaxPos = int(s.OriginalMax)
	}
	return c.RoPE.Check()
}
