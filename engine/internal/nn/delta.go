package nn

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/internal/elementary"
)

// Delta is the gated delta rule of one layer (Yang, Kautz, Hatamizadeh, Gated Delta Networks, 2024, as Qwen3.5 has it).
// A value head has a state S [KeyDim,ValueDim], zero before the first position. At each position
//
//	S = exp(g)*S ;  u = β*(v - Sᵀk) ;  S = S + k·uᵀ ;  o = Sᵀq
//
// q, k and v are the results of a causal convolution over positions, channel by channel, and of silu; q and k then have
// length 1, and q is divided by sqrt(KeyDim). Each key head serves the value heads next to each other.
//
// It is computed page by page. With the state S before position 0 of a page and G[i] = g[0]+…+g[i] in it,
//
//	u[i] = β[i]*(v[i] - exp(G[i])*Sᵀk[i] - sum over j < i of exp(G[i]-G[j])*dot(k[j],k[i])*u[j])
//	o[i] = exp(G[i])*Sᵀq[i] + sum over j <= i of exp(G[i]-G[j])*dot(k[j],q[i])*u[j]
//	S'   = exp(G[31])*S + sum over j of exp(G[31]-G[j])*k[j]·u[j]ᵀ
//
// so that the products with S have many rows, a sequence reads S at each position and writes it once a page, and the
// bits of a position are a function of the positions before it, however they are divided into calls.
type Delta struct {
	Keys, Values     int // heads; Values is a multiple of Keys
	KeyDim, ValueDim int
	Taps             int // positions that the convolution reads, its own included
	Eps              float32
}

// DeltaWeights are the weights of a Delta outside its linears.
type DeltaWeights struct {
	Conv  []float32 // [Taps,Channels], the last is of the position itself
	Decay []float32 // [Values] exp(A_log)
	Bias  []float32 // [Values] dt_bias
	Norm  []float32 // [ValueDim]
}

// DeltaRows are what a Delta reads and writes, for all rows of a pass. In is [T,Width]; Err is v-Sᵀk and Out is o,
// which the backward reads again; Y is the result, norm(o)*silu(z). All but In are [T,Values*ValueDim].
type DeltaRows struct{ In, Err, Out, Y Rows }

// keys and values are the widths of all key heads and of all value heads.
func (d Delta) keys() int   { return d.Keys * d.KeyDim }
func (d Delta) values() int { return d.Values * d.ValueDim }

// Channels is the width of the convolution: q, k and v. Width is that of the layer's input: q, k, v, the gate z, and
// one column of b and of a for each value head.
func (d Delta) Channels() int { return 2*d.keys() + d.values() }
func (d Delta) Width() int    { return d.Channels() + d.values() + 2*d.Values }

// group is the number of value heads of a key head.
func (d Delta) group() int { return d.Values / d.Keys }

// deltaColumns are where the columns of a value head begin.
type deltaColumns struct{ v, z, b, a, out int }

func (d Delta) columns(value int) deltaColumns {
	z := d.Channels()
	return deltaColumns{v: 2*d.keys() + value*d.ValueDim, z: z + value*d.ValueDim, b: z + d.values() + value,
		a: z + d.values() + d.Values + value, out: value * d.ValueDim}
}

// gate returns g and β of a row.
func (d Delta) gate(w *DeltaWeights, row []float32, value int) (g float64, beta float32) {
	c := d.columns(value)
	x := float64(row[c.a]) + float64(w.Bias[value])
	return -float64(float64(w.Decay[value]) * softplus(x)), float32(logistic(float64(row[c.b])))
}

// softplus is log(1+exp(x)), as PyTorch has it: x above 20.
func softplus(x float64) float64 {
	if x > 20 {
		return x
	}
	return elementary.Log1p(elementary.Exp(x))
}

func logistic(x float64) float64 { return 1 / (1 + elementary.Exp(-x)) }

// deltaHead is the work on one key head and its value heads.
type deltaHead struct {
	Delta
	DeltaRows
	on   Products
	ws   *deltaSpace
	w    *DeltaWeights
	all  []Stretch
	prev []int // of each row: the one of the position before, -1 for none
	head int
}

// convolve writes the convolution's columns from at on of row t to out, before silu. m has the rows of the
// positions before those of the pass, if the row's stretch has a memory.
func (h *deltaHead) convolve(out []float32, t, at int, m *deltaWindow) {
	n, tmp := len(out), h.ws.tmp[:len(out)]
	var taps [8][]float32
	seen := 0
	for s := range h.Taps {
		p := h.behind(t, s, m)
		if p == nil {
			break
		}
		taps[s], seen = p[at:at+n], s+1
	}
	for s := seen - 1; s >= 0; s-- {
		w := h.w.Conv[(h.Taps-1-s)*h.Channels()+at:][:n]
		if s == seen-1 {
			h.on.K.Mul(out, taps[s], w)
			continue
		}
		h.on.K.Mul(tmp, taps[s], w)
		h.on.K.Add(out, tmp)
	}
}

// behind returns the input that many positions before row t, nil for none.
func (h *deltaHead) behind(t, back int, m *deltaWindow) []float32 {
	if m == nil {
		for ; back > 0 && t >= 0; back-- {
			t = h.prev[t]
		}
		if t < 0 {
			return nil
		}
		return h.In.Row(t)[:h.Channels()]
	}
	if at := t - back - m.from; at >= 0 {
		return h.In.Row(t - back)[:h.Channels()]
	} else if m.pos+at >= 0 {
		return m.rows[(h.Taps-1+at)*h.Channels():][:h.Channels()]
	}
	return nil
}

// mix writes silu of the convolution's columns from at on of row t to out.
func (h *deltaHead) mix(out []float32, t, at int, m *deltaWindow) {
	h.convolve(out, t, at, m)
	h.on.K.SiLUMul(out, out, h.ws.ones[:len(out)])
}

// unit divides x by its length and returns the factor. The sum of squares is at least 1e-6, as in the model's
// definition.
func unit(k *kernel.Set, x []float32, scale float32) (inv float32) {
	inv = 1 / float32(math.Sqrt(float64(k.SumSq(x)+1e-6)))
	k.Scale(x, inv)
	if scale != 1 {
		k.Scale(x, scale)
	}
	return inv
}

// queryScale is the factor of q after it has length 1.
func (d Delta) queryScale() float32 { return float32(1 / math.Sqrt(float64(d.KeyDim))) }

// storeColumn writes x to column at of a panel [len(x)][32].
func storeColumn(panel, x []float32, at int) {
	for i, v := range x {
		panel[i*kernel.NR+at] = v
	}
}

// decays writes exp(G[i]-G[j]) for j <= i to out, and exp(G[i]), which it returns, behind them.
func decays(k *kernel.Set, out []float32, g []float64, i int) float32 {
	for j := range i + 1 {
		out[j] = float32(g[i] - g[j])
	}
	out[i+1] = float32(g[i])
	k.Exp(out[:i+2], out[:i+2])
	return out[i+1]
}
