package algorithm

import (
	"math"
	"strings"
	"testing"
)

func mustPolicy(t *testing.T, name string, args Args) PolicyLoss {
	t.Helper()
	l, err := build("policy_loss_fn", name, args, PolicyLosses())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The expected values are from Trinity-RFT's own tests, which were reproduced from its generator.
func TestPolicyLossGoldens(t *testing.T) {
	ppoMetrics := map[string]float64{"pg_clipfrac": 0.35416666, "pg_clipfrac_lower": 0.0625, "ppo_kl": -0.21663447}
	tests := []struct {
		name, loss string
		args       Args
		agg        Aggregation
		want       float64
		metrics    map[string]float64
	}{
		{"ppo", "ppo", nil, TokenMean, 0.26889560, ppoMetrics},
		{"ppo, defaults spelt out", "ppo", Args{"clip_range": 0.2, "clip_ratio_c": uint64(3)}, TokenMean, 0.26889560,
			ppoMetrics},
		{"ppo with sequence masking", "ppo", Args{"enable_sequence_masking": true, "delta_sequence_masking": 0.1},
			TokenMean, 0.22175676,
			map[string]float64{"pg_clipfrac": 0.35416666, "pg_clipfrac_lower": 0.0625, "ppo_kl": -0.21663447,
				"seq_mask/masked_tokens": 0.16666667, "seq_mask/mean_sequence_kl": -0.21027061, "pg_loss": 0.22175676}},
		{"sft", "sft", nil, TokenMean, -0.0756018609, map[string]float64{"sft_loss": -0.0756018609}},
		{"sft", "sft", nil, SeqMeanTokenSum, -0.7257778645, nil},
		{"sft", "sft", nil, SeqMeanTokenMean, -0.0696561737, nil},
		{"sft", "sft", nil, SeqMeanTokenSumNorm, -0.1814444660, nil},
		{"opmd", "opmd", nil, TokenMean, -0.00958995, map[string]float64{"opmd_loss": -0.00958995}},
		{"gspo", "gspo", nil, SeqMeanTokenMean, 0.27235109, map[string]float64{"pg_clipfrac": 0.375,
			"ppo_kl_seq": -0.21027061, "ppo_kl": -0.21663447}},
		{"sapo", "sapo", nil, TokenMean, -0.05128995, map[string]float64{"sapo_loss": -0.05128995,
			"avg_soft_gate": 2.31911373,
			"avg_ratio":     1.63076675, "pos_adv_frac": 0.39583334, "ppo_kl": -0.21663447}},
		{"mix", "mix", nil, TokenMean, 0.62982476, map[string]float64{"usual/pg_clipfrac": 0.77777779,
			"usual/pg_clipfrac_lower": 0.22222222,
			"usual/ppo_kl":            -1.07376957, "usual/pg_loss": 0.69212109, "expert/sft_loss": 0.06915831,
			"loss": 0.62982476}},
		{"importance_sampling", "importance_sampling", nil, TokenMean, 0.1029665663, nil},
		{"cispo", "cispo", nil, TokenMean, -0.0155645328, map[string]float64{"unmasked_frac": 1}},
		{"topr", "topr", nil, TokenMean, -0.0053641891, nil},
		{"sppo", "sppo", nil, TokenMean, 0.0104608420, nil},
		{"rec", "rec", nil, TokenMean, -0.0191798962, map[string]float64{"pg_clipfrac": 0}},
		{"rec one-side", "rec", Args{"clip_mode": "one-side", "weight": "importance_sampling"}, TokenMean, 0.1206203277,
			nil},
		{"sft_is", "sft_is", nil, TokenMean, -0.4619687093, nil},
		{"sft_phi", "sft_phi", nil, TokenMean, 0.6554085229, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name+"/"+string(tt.agg), func(t *testing.T) {
			got := mustPolicy(t, tt.loss, tt.args).Loss(policyFixture(t), tt.agg)
			if !near(got.Value, tt.want) {
				t.Errorf("loss = %.9f, want %.9f", got.Value, tt.want)
			}
			for k, want := range tt.metrics {
				if v, ok := got.Metrics[k]; !ok || !near(v, want) {
					t.Errorf("%s = %.9f, want %.9f", k, v, want)
				}
			}
		})
	}
}

func TestPolicyLossGradients(t *testing.T) {
	tests := []struct {
		name, loss string
		args       Args
	}{
		{"ppo", "ppo", nil},
		{"ppo, uneven clipping", "ppo", Args{"clip_range_low": 0.1, "clip_range_high": "0.28", "clip_ratio_c": 1.5}},
		{"ppo with sequence masking", "ppo", Args{"enable_sequence_masking": true}},
		{"sft", "sft", nil},
		{"opmd", "opmd", Args{"tau": 0.5}},
		{"importance_sampling", "importance_sampling", nil},
		{"sapo, the paper's", "sapo", Args{"surrogate": "ratio", "tau_neg": 3.0}},
		{"sppo", "sppo", nil},
		{"dpo", "dpo", Args{"label_smoothing": 0.1, "beta": 0.5}},
		{"mix", "mix", Args{"mu": 0.3, "train_batch_size_usual": 2}},
		{"mix_chord", "mix_chord", Args{"enable_phi_function": false, "sft_loss_agg_mode": "seq-mean-token-sum"}},
	}
	for _, tt := range tests {
		for _, agg := range []Aggregation{TokenMean, SeqMeanTokenSum, SeqMeanTokenMean, SeqMeanTokenSumNorm} {
			t.Run(tt.name+"/"+string(agg), func(t *testing.T) {
				l := mustPolicy(t, tt.loss, tt.args)
				batch := policyFixture(t)
				checkGradient(t, batch, l.Loss(batch, agg).Gradient, func() float64 { return l.Loss(batch, agg).Value })
			})
		}
	}
}

// On policy the ratio is 1, nothing is clipped and the gradient is -A times the token's weight.
func TestPPOOnPolicy(t *testing.T) {
	batch := policyFixture(t)
	for i := range batch {
		batch[i].Old = batch[i].Logprobs
	}
	for name, l := range map[string]PolicyLoss{
		"old is the same":             mustPolicy(t, "ppo", nil),
		"fallback to policy gradient": mustPolicy(t, "ppo", Args{"fallback_to_policy_gradient": true}),
	} {
		got := l.Loss(batch, TokenMean)
		w := TokenMean.weights(masksOf(batch))
		for i := range batch {
			for k := range w[i] {
				if want := -float64(batch[i].Advantages[k]) * w[i][k]; got.Gradient[i][k] != want {
					t.Errorf("%s: gradient[%d][%d] = %v, want %v", name, i, k, got.Gradient[i][k], want)
				}
			}
		}
		if got.Metrics["pg_clipfrac"] != 0 || got.Metrics["ppo_kl"] != 0 {
			t.Errorf("%s: metrics = %v, want nothing clipped and no KL", name, got.Metrics)
		}
	}
}

// The four corners of clipping, one token each: does a token beyond the clip range still pull?
func TestPPOClipping(t *testing.T) {
	tests := []struct {
		name      string
		ratio, a  float64
		wantLoss  float64
		wantSlope float64
	}{
		{"good and already more likely: stop", 1.5, 1, -1.2, 0},
		{"good but less likely: pull up", 0.5, 1, -0.5, -0.5},
		{"bad and already less likely: stop", 0.5, -1, 0.8, 0},
		{"bad but more likely: push down", 1.5, -1, 1.5, 1.5},
		{"bad and far more likely: the dual clip stops it", 4, -1, 3, 0},
		{"a ratio beyond e^20 is clamped", math.Exp(25), -1, 3, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Sequence{Logprobs: []float32{float32(math.Log(tt.ratio))}, Old: []float32{0},
				Advantages: []float32{float32(tt.a)}, Mask: []bool{true}}
			got := mustPolicy(t, "ppo", nil).Loss([]Sequence{s}, SeqMeanTokenSum)
			if math.Abs(got.Value-tt.wantLoss) > 1e-6 || math.Abs(got.Gradient[0][0]-tt.wantSlope) > 1e-6 {
				t.Errorf("loss %v slope %v, want %v and %v", got.Value, got.Gradient[0][0], tt.wantLoss, tt.wantSlope)
			}
		})
	}
}

// What stands outside the mask, NaN included, changes neither the loss nor the gradient.
func TestMaskedTokensDoNotCount(t *testing.T) {
	l := mustPolicy(t, "ppo", nil)
	clean := l.Loss(policyFixture(t), TokenMean)
	dirty := policyFixture(t)
	nan := float32(math.NaN())
	for _, s := range dirty {
		for k, keep := range s.Mask {
			if !keep {
				s.Logprobs[k], s.Old[k], s.Advantages[k] = nan, nan, nan
			}
		}
	}
	got := l.Loss(dirty, TokenMean)
	if got.Value != clean.Value || got.Metrics["ppo_kl"] != clean.Metrics["ppo_kl"] {
		t.Errorf("loss %v, without NaN %v", got.Value, clean.Value)
	}
	for i := range got.Gradient {
		for k, v := range got.Gradient[i] {
			if v != clean.Gradient[i][k] {
				t.Errorf("gradient[%d][%d] = %v, without NaN %v", i, k, v, clean.Gradient[i][k])
			}
		}
	}
}

func TestEmptyMaskIsZero(t *testing.T) {
	for name := range PolicyLosses() {
		for _, s := range []Sequence{
			{Logprobs: []float32{}, Old: []float32{}, Ref: []float32{}, Advantages: []float32{}, Mask: []bool{}},
			{Logprobs: []float32{-1}, Old: []float32{-1}, Advantages: []float32{1}, Mask: []bool{false}},
		} {
			got := mustPolicy(t, name, nil).Loss([]Sequence{s}, TokenMean)
			if got.Value != 0 {
				t.Errorf("%s of no trained token = %v, want 0", name, got.Value)
			}
			for k, v := range got.Metrics {
				if v != 0 && k != "mu" {
					t.Errorf("%s of no trained token has %s = %v, want 0", name, k, v)
				}
			}
		}
	}
}

func TestArgsAreChecked(t *testing.T) {
	tests := []struct {
		name, loss string
		args       Args
		want       string
	}{
		{"unknown", "ppo", Args{"clip_rage": 0.2},
			"clip_rage is not an argument; did you mean clip_range?; there are clip_range"},
		{"wrong type", "ppo", Args{"clip_range": true}, "clip_range is true; it must be a number"},
		{"text that is not a number", "ppo", Args{"clip_range": "wide"}, "it must be a number"},
		{"out of range", "ppo", Args{"clip_ratio_c": 1.0}, "clip_ratio_c is 1; it must be greater than 1"},
		{"not a boolean", "ppo", Args{"enable_sequence_masking": 1}, "it must be true or false"},
		{"argument of another function", "sft", Args{"tau": 1.0}, "tau is not an argument"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := build("policy_loss_fn", tt.loss, tt.args, PolicyLosses())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q in it", err, tt.want)
			}
		})
	}
}
