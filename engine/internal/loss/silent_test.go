package loss

import (
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"pgregory.net/rapid"
)

// A silent datum has no derivative at any position, whatever the log-probabilities; others have one at some of them.
func TestSilent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(Names()).Draw(t, "loss")
		config := map[string]float64{}
		few := func(what string) []float32 { // mostly zeros
			return rapid.SliceOfN(rapid.SampledFrom([]float32{0, 0, 0, 0.5}), 3, 3).Draw(t, what)
		}
		setting := func(key string) { config[key] = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, key) }
		switch name {
		case tinker.DRO:
			setting("beta")
		case tinker.StableReinforce:
			setting("kl_coeff")
		case tinker.TrinityPPO:
			setting("kl_coef")
			config["num_total_datums"] = 2
		}
		if rapid.Bool().Draw(t, "entropic") {
			setting(tinker.EntropyCoef)
		}
		l, err := New(name, config)
		if err != nil {
			t.Fatal(err)
		}
		d := Datum{N: 3, K: 1, Logprobs: []float32{-1, -1, -1}, RatioMask: []float32{1, 1, 1}, Weights: few("weights"),
			Advantages: few("advantages"), Sampled: few("sampled"), Reference: []float32{-2, -2, -2}, tokens: 3}
		for i, s := range d.Sampled {
			if s == 0 && name == tinker.StableReinforce {
				d.Advantages[i] = 0 // as Check demands
			}
		}
		if rapid.Bool().Draw(t, "weighted entropies") {
			d.EntropyWeights = few("entropy weights")
		}
		if got := l.Silent(d); got == derives(l, d) {
			t.Fatalf("%s %v %+v: silent %v", name, config, d, got)
		}
	})
}

// derives reports whether the loss of d has a derivative at log-probabilities near those of the sampler.
func derives(l Loss, d Datum) bool {
	logp := []float32{-1.01, -0.99, -1.02}
	l.Prepare(&d, logp)
	return slices.ContainsFunc([]int{0, 1, 2}, func(pos int) bool {
		g := []float32{0}
		l.Row(d, pos, logp[pos:pos+1], g)
		_, e := l.Entropy(d, pos, 1)
		return g[0] != 0 || e != 0
	})
}
