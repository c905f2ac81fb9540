package modelfile

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
)

// gemmaPeriod is llama.cpp's default: of so many layers one attends to all positions.
const gemmaPeriod = 6

// Gemma has the settings of Gemma 3 alone.
type Gemma struct {
	Window      int     // positions that a sliding layer attends to
	Sliding     []bool  // by layer
	LocalTheta  float64 // of RoPE in sliding layers
	LocalScaled bool    // RoPE of sliding layers is scaled
	Query       float64 // queries are divided by its square root
}

// checkGemma refuses what llama.cpp does not read from a file but takes for granted.
func (s Shape) checkGemma(remedy string) error {
	g := s.Gemma
	if g == nil || len(g.Sliding) != s.Layers || g.Window < 1 || !(g.LocalTheta > 0) {
		return fmt.Errorf("the model of the family %s has no sliding window of each layer", s.Family)
	}
	query, what := float64(s.HeadDim), "head_dim"
	if s.Layers == 62 { // llama.cpp's "27B"
		query, what = float64(s.Dim/s.Heads), "hidden_size/num_attention_heads in a model of 62 layers"
	}
	switch {
	case g.Query != query:
		return fmt.Errorf("query_pre_attn_scalar %v cannot be written as GGUF: llama.cpp takes %v (%s); %s", g.Query,
			query, what, remedy)
	case g.LocalScaled:
		return fmt.Errorf("scaled RoPE in sliding layers cannot be written as GGUF; %s", remedy)
	case g.period() == 0:
		return fmt.Errorf("layer_types that do not repeat (sliding layers %v) cannot be written as GGUF; %s",
			g.Sliding, remedy)
	}
	return nil
}

// period is n if every n-th layer attends to all positions and the others slide; 0 if no n fits. A period longer
// than the model means that no layer attends to all.
func (g *Gemma) period() int {
	fits := func(n int) bool {
		for i, sliding := range g.Sliding {
			if sliding != (i%n < n-1) {
				return false
			}
		}
		return true
	}
	if fits(gemmaPeriod) {
		return gemmaPeriod
	}
	for n := 1; n <= len(g.Sliding)+1; n++ {
		if fits(n) {
			return n
		}
	}
	return 0
}

// gemmaPairs are the metadata of Gemma 3 alone.
func (s Shape) gemmaPairs() []gguf.Pair {
	arch, g := s.arch(), s.Gemma
	list := []gguf.Pair{{Key: arch + ".attention.sliding_window", Value: uint32(g.Window)},
		{Key: arch + ".rope.freq_base_swa", Value: float32(g.LocalTheta)}}
	if n := g.period(); n != gemmaPeriod {
		list = append(list, gguf.Pair{Key: arch + ".attention.sliding_window_pattern", Value: uint32(n)})
	}
	return list
}
