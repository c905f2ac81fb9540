package nn

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// RoPEConfig is the angles of rotary position embedding: pair i of a head of width Dim is rotated by
// pos * Theta^(-2i/Dim), before scaling.
type RoPEConfig struct {
	Dim    int // width of a head
	Theta  float64
	Linear float64        // divides every frequency; 0 is 1
	Llama3 *Llama3Scaling // or nil
	YaRN   *YaRNScaling   // or nil
	Scale  float64        // multiplies cosines and sines; 0 is 1
	Divide []float32      // [Dim/2] divides the frequency of each pair; nil does not
}

// Llama3Scaling is the rope_type "llama3" of Llama 3.1 and later: frequencies whose wavelength is long compared with
// the original context are divided by Factor, short wavelengths stay, and those between are interpolated.
type Llama3Scaling struct {
	Factor, LowFactor, HighFactor, OriginalMax float64
}

// Check returns an error for invalid numbers.
func (c RoPEConfig) Check() error {
	if c.Linear < 0 || math.IsNaN(c.Linear) {
		return fmt.Errorf("rope factor = %v must be positive", c.Linear)
	}
	if s := c.Llama3; s != nil && !(s.Factor > 0 && s.LowFactor > 0 && s.HighFactor > s.LowFactor &&
		s.OriginalMax > 0) {
		return fmt.Errorf("rope_type llama3 needs factor, low_freq_factor < high_freq_factor and "+
			"original_max_position_embeddings, got %+v", *s)
	}
	if c.Scale < 0 || math.IsNaN(c.Scale) || math.IsInf(c.Scale, 0) {
		return fmt.Errorf("rope attention_factor = %v must be positive", c.Scale)
	}
	for _, d := range c.Divide {
		if !(d > 0) || math.IsInf(float64(d), 0) || len(c.Divide) != c.Dim/2 {
			return fmt.Errorf("rope factors %v must be %d positive numbers", c.Divide, c.Dim/2)
		}
	}
	if c.YaRN != nil && !(c.Theta > 1) {
		return fmt.Errorf("rope_theta = %v must be greater than 1 for rope_type yarn", c.Theta)
	}
	return c.YaRN.check()
}

// frequencies returns the angle per position of each pair [Dim/2], in float32 as PyTorch computes them.
func (c RoPEConfig) frequencies() []float32 {
	f := make([]float32, c.Dim/2)
	for i := range f {
		power := float32(elementary.Pow(c.Theta, float64(float32(2*i)/float32(c.Dim))))
		if c.Divide != nil {
			power *= c.Divide[i]
		}
		f[i] = 1 / power
		if c.Linear > 0 {
			f[i] /= float32(c.Linear)
		}
		if c.Llama3 != nil {
			f[i] = c.Llama3.scale(f[i])
		}
	}
	c.YaRN.scale(f, c)
	return f
}

func (s *Llama3Scaling) scale(f float32) float32 {
	wave := 2 * math.Pi / float64(f)
	switch {
	case wave > s.OriginalMax/s.LowFactor:
		return f / float32(s.Factor)
	case wave < s.OriginalMax/s.HighFactor:
		return f
	}
	smooth := (s.OriginalMax/wave - s.LowFactor) / (s.HighFactor - s.LowFactor)
	return float32(float64((1-smooth)*float64(f))/s.Factor + float64(smooth*float64(f)))
}

// RoPE is the rotation of q and k by their positions. It is safe for concurrent use.
type RoPE struct {
	freq  []float32
	scale float32 // of cosines and sines
	table atomic.Pointer[RoPETable]
}

// RoPETable holds the cosines and sines of positions 0 to Len-1.
type RoPETable struct {
	half int
	data []float32 // [Len][cos[half], sin[half]]
}

// NewRoPE returns the rotation of c.
func NewRoPE(c RoPEConfig) *RoPE {
	r := &RoPE{freq: c.frequencies(), scale: 1}
	if c.Scale > 0 {
		r.scale = float32(c.Scale)
	}
	return r
}

// Table returns a table of at least n positions.
func (r *RoPE) Table(n int) *RoPETable {
	t := r.table.Load()
	if t != nil && len(t.data) >= n*2*len(r.freq) {
		return t
	}
	n = max(2*n, 512)
	t = &RoPETable{half: len(r.freq), data: make([]float32, 0, n*2*len(r.freq))}
	for pos := range n {
		for _, f := range r.freq {
			t.data = append(t.data, r.scale*float32(elementary.Cos(float64(float32(float32(pos)*f)))))
		}
		for _, f := range r.freq {
			t.data = append(t.data, r.scale*float32(elementary.Sin(float64(float32(float32(pos)*f)))))
		}
	}
	r.table.Store(t)
	return t
}

// Rotate rotates the pairs (x[i], x[i+Dim/2]) of one head by the angles of pos, into y. y may be x. A head's elements
// from Dim on stay as they are, and all elements if there is no table.
func (t *RoPETable) Rotate(k *kernel.Set, y, x []float32, pos int) { t.rotate(k, y, x, pos, 1) }

// RotateBack is the transpose of Rotate, its backward.
func (t *RoPETable) RotateBack(k *kernel.Set, dx, dy []float32, pos int) {
	t.rotate(k, dx, dy, pos, -1)
}

func (t *RoPETable) rotate(k *kernel.Set, y, x []float32, pos int, sign float32) {
	if t == nil {
		copy(y, x)
		return
	}
	n := 2 * t.half
	k.Rotate(y[:n], x[:n], t.at(pos), sign)
	copy(y[n:], x[n:])
}

// at returns the cosines and sines of a position.
func (t *RoPETable) at(pos int) []float32 { return t.data[2*t.half*pos:][:2*t.half] }
