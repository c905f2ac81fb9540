package algorithm

import (
	"math"
	"testing"
)

func mustKL(t *testing.T, name string, args Args) KL {
	t.Helper()
	k, err := build("kl_loss_fn", name, args, KLs())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func aggregateKL(k KL, batch []Sequence, agg Aggregation) (float64, [][]float64) {
	return agg.aggregate(masksOf(batch), func(i, t int) term {
		s := &batch[i]
		return k.estimate(float64(s.Logprobs[t]), float64(s.Ref[t]), float64(s.Old[t]), true)
	})
}

func TestKLGoldens(t *testing.T) {
	tests := []struct {
		name                string
		tokenMean, tokenSum float64
	}{
		{"k1", 0.0647494091, 0.2751849890},
		{"k2", 0.2976164927, 1.2648700947},
		{"k3", 0.2973600885, 1.2637803769},
		{"low_var_kl", 0.2973600885, 1.2637803769},
		{"abs", 0.6288116816, 2.6724496484},
		{"corrected_k3", 0.4117293699, 1.7498498230},
	}
	for _, tt := range tests {
		k := mustKL(t, tt.name, nil)
		if got, _ := aggregateKL(k, klFixture(), TokenMean); !near(got, tt.tokenMean) {
			t.Errorf("%s by token-mean = %.10f, want %.10f", tt.name, got, tt.tokenMean)
		}
		if got, _ := aggregateKL(k, klFixture(), SeqMeanTokenSum); !near(got, tt.tokenSum) {
			t.Errorf("%s by seq-mean-token-sum = %.10f, want %.10f", tt.name, got, tt.tokenSum)
		}
	}
}

func TestKLGradients(t *testing.T) {
	for name := range KLs() {
		if name == "none" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			k, batch := mustKL(t, name, nil), klFixture()
			_, g := aggregateKL(k, batch, TokenMean)
			checkGradient(t, batch, g, func() float64 { v, _ := aggregateKL(k, batch, TokenMean); return v })
		})
	}
}

func TestLowVarKLIsBounded(t *testing.T) {
	for _, tt := range []struct{ d, want float64 }{{50, 10}, {-50, 10}, {-5, 10}, {12, 10}} {
		got := lowVarKL(tt.d, 0, 0, false)
		if got.value != tt.want || got.slope != 0 {
			t.Errorf("low_var_kl at d = %v is %+v, want %v with slope 0", tt.d, got, tt.want)
		}
	}
}

func TestKLActive(t *testing.T) {
	tests := []struct {
		name string
		args Args
		want bool
	}{
		{"none", nil, false},
		{"k2", nil, true}, // the default coefficient is 0.001
		{"k2", Args{"kl_coef": 0.0}, false},
		{"k2", Args{"kl_coef": uint64(0)}, false},
	}
	for _, tt := range tests {
		if got := mustKL(t, tt.name, tt.args).Active(); got != tt.want {
			t.Errorf("%s%v is active: %v, want %v", tt.name, tt.args, got, tt.want)
		}
	}
}

// Estimates and their slopes stay finite float32 numbers, however unlikely a token has become, and k3 goes on evenly
// where it stops being an exponential.
func TestKLIsFinite(t *testing.T) {
	for name := range KLs() {
		k := mustKL(t, name, Args{"kl_coef": 1.0})
		if name == "none" {
			continue
		}
		for _, lp := range []float64{-60, -61, -100, -800, -3000} {
			for _, old := range []float64{0, -1, lp, lp + 1, lp - 800} {
				got := k.estimate(lp, 0, old, true)
				for _, v := range []float64{got.value, got.slope} {
					if x := float32(v); x != x || math.IsInf(float64(x), 0) {
						t.Errorf("%s at lp %v, ref 0, old %v is %+v, want finite numbers", name, lp, old, got)
					}
				}
			}
		}
	}
	at, beyond := k3(farthestK3, 0, 0, false), k3(farthestK3-1, 0, 0, false)
	if beyond.slope != at.slope || math.Abs(beyond.value-(at.value-at.slope)) > 1e-9*at.value {
		t.Errorf("k3 is %+v at -60 and %+v at -61, want the same slope on", at, beyond)
	}
	if got, want := k3(-30, 0, 0, false).value, math.Expm1(30)-30; math.Abs(got-want) > 1e-12*want {
		t.Errorf("k3 at -30 is %v, want %v", got, want)
	}
}
