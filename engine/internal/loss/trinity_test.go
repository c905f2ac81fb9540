package loss

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// trinityDatum is a datum with one row of each input.
func trinityDatum(q, a, w, ref []float32) tinker.Datum {
	n := len(q)
	return tinker.Datum{ModelInput: tinker.Text(make([]int32, n)), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.Ints(make([]int64, n)), tinker.Logprobs: tinker.Floats(q),
		tinker.Advantages: tinker.Floats(a), tinker.Weights: tinker.Floats(w), tinker.RefLogprobs: tinker.Floats(ref)}}
}

// The batch of TuFT's test of the loss, with its log-probabilities.
func upstreamBatch() (list []tinker.Datum, logp [][]float32) {
	q, ref := []float32{-2, -2, -2, -2}, []float32{-2.5, -2.5, -2.5, -2.5}
	return []tinker.Datum{
		trinityDatum(q, []float32{0, 1, -1, 2}, []float32{0, 1, 1, 1}, ref),
		trinityDatum(q, []float32{0, -2, -1, 0}, []float32{0, 1, 1, 0}, ref),
		trinityDatum(q, []float32{0, 0, 0, 0}, []float32{0, 0, 0, 0}, ref),
	}, [][]float32{{-3, -0.1, -1, -2}, {-1, -4, -0.1, -2}, {-2, -2, -2, -2}}
}

// evaluate is the loss of datums, the gradient by each log-probability and the metrics.
func evaluate(t *testing.T, l Loss, data []tinker.Datum, logp [][]float32) (sum float64, grad []float32,
	metrics map[string]float64) {
	t.Helper()
	metrics = map[string]float64{}
	for i, x := range data {
		d, err := l.Check(i, x, 10)
		if err != nil {
			t.Fatal(err)
		}
		for pos := range d.N {
			g := []float32{0}
			sum += l.Row(d, pos, logp[i][pos:pos+1], g)
			grad = append(grad, g...)
		}
		l.Report(metrics, d, logp[i])
	}
	return sum, grad, metrics
}

// The loss, gradient and metrics of a batch are upstream's, worked out here token by token, and those of its parts add
// up to them.
func TestTrinityPPO(t *testing.T) {
	l := mustNew(t, tinker.TrinityPPO, map[string]float64{"kl_coef": 0.03, "num_total_datums": 3})
	data, logp := upstreamBatch()
	sum, grad, metrics := evaluate(t, l, data, logp)
	kl := func(p float64) float64 { return 0.015 * (p + 2.5) * (p + 2.5) }
	e := math.Exp
	first := (-1.2 + kl(-0.1)) + (e(1) + kl(-1)) + (-2 + kl(-2)) // the last is on policy
	second := (2*0.8 + kl(-4)) + (3 + kl(-0.1))                  // both clipped: at 1−clip_range and clip_ratio_c
	if want := (first/3 + second/2) / 3; math.Abs(sum-want) > 1e-6 {
		t.Errorf("loss %v, want %v", sum, want)
	}
	want := []float64{0, 0.03 * 2.4 / 9, (e(1) + 0.03*1.5) / 9, (-2 + 0.03*0.5) / 9,
		0, 0.03 * -1.5 / 6, 0.03 * 2.4 / 6, 0, 0, 0, 0, 0}
	for i, g := range grad {
		if math.Abs(float64(g)-want[i]) > 1e-6 {
			t.Errorf("gradient %d is %v, want %v", i, g, want[i])
		}
	}
	ratios := []float64{e(1.9), e(1), 1, e(-2), e(1.9)}
	wanted := map[string]float64{"trinity/response_tokens:sum": 5, "trinity/clipped_tokens:sum": 4}
	for _, r := range ratios {
		wanted["trinity/ratio_sum:sum"] += r
		wanted["trinity/ratio_squared_sum:sum"] += r * r
	}
	for _, p := range []float64{-0.1, -1, -2, -4, -0.1} {
		wanted["trinity/kl_sum:sum"] += 0.5 * (p + 2.5) * (p + 2.5)
	}
	a, _, one := evaluate(t, l, data[:2], logp[:2])
	b, _, two := evaluate(t, l, data[2:], logp[2:])
	if a+b != sum {
		t.Errorf("the parts' losses are %v and %v, the whole's %v", a, b, sum)
	}
	for name, v := range wanted {
		if math.Abs(metrics[name]-v) > 1e-4 || one[name]+two[name] != metrics[name] {
			t.Errorf("%s is %v (its parts %v, %v), want %v", name, metrics[name], one[name], two[name], v)
		}
	}
	if len(metrics) != len(wanted) {
		t.Errorf("metrics %v", metrics)
	}
}

// The datum of upstream's test of the client's side (tests/trainer/tinker_server_loss_test.py), on policy; a mask has
// precedence over weights, and without a KL term no reference is needed.
func TestTrinityAlignment(t *testing.T) {
	q := []float32{0, -0.2, 0, -0.4}
	d := trinityDatum(q, []float32{0, 2, 0, -1}, []float32{0, 1, 0, 1}, []float32{0, -0.1, 0, -0.2})
	l := mustNew(t, tinker.TrinityPPO, map[string]float64{"num_total_datums": 1})
	sum, _, metrics := evaluate(t, l, []tinker.Datum{d}, [][]float32{q})
	if want := -0.5 + 0.001*0.5*(0.01+0.04)/2; math.Abs(sum-want) > 1e-7 ||
		math.Abs(metrics["trinity/kl_sum:sum"]-0.025) > 1e-7 || metrics["trinity/ratio_sum:sum"] != 2 {
		t.Errorf("loss %v, want %v; metrics %v", sum, want, metrics)
	}
	d.LossFnInputs[tinker.Mask] = d.LossFnInputs[tinker.Weights]
	delete(d.LossFnInputs, tinker.Weights)
	if masked, _, _ := evaluate(t, l, []tinker.Datum{d}, [][]float32{q}); masked != sum {
		t.Errorf("with a mask: %v", masked)
	}
	delete(d.LossFnInputs, tinker.RefLogprobs)
	l = mustNew(t, tinker.TrinityPPO, map[string]float64{"num_total_datums": 1, "kl_coef": 0})
	sum, _, metrics = evaluate(t, l, []tinker.Datum{d}, [][]float32{q})
	if _, kl := metrics["trinity/kl_sum:sum"]; sum != -0.5 || kl {
		t.Errorf("without a reference: %v, %v", sum, metrics)
	}
}

func TestTrinityRefusals(t *testing.T) {
	one := map[string]float64{"num_total_datums": 1}
	for _, c := range []struct {
		config map[string]float64
		drop   string
		mask   []float32
		want   string
	}{
		{config: nil, want: "num_total_datums of trinity_ppo is 0"},
		{config: map[string]float64{"num_total_datums": 3.5}, want: "num_total_datums of trinity_ppo is 3.5"},
		{config: map[string]float64{"num_total_datums": math.NaN()}, want: "num_total_datums of trinity_ppo is NaN"},
		{config: map[string]float64{"num_total_datums": 2, "clip_range": 1}, want: "clip_range of trinity_ppo is 1"},
		{config: map[string]float64{"num_total_datums": 2, "clip_ratio_c": 1}, want: "clip_ratio_c of trinity_ppo is"},
		{config: one, want: "datum 1 of a request whose num_total_datums is 1"},
		{config: one, drop: tinker.Weights, want: "lacks weights, which trinity_ppo needs"},
		{config: one, drop: tinker.RefLogprobs, want: "lacks ref_logprobs, which trinity_ppo needs"},
		{config: one, mask: []float32{0, 0.5, 1, 1}, want: "mask[1] is 0.5; it must be 0 or 1"},
	} {
		data, _ := upstreamBatch()
		l, err := New(tinker.TrinityPPO, c.config)
		for i := 0; i < 2 && err == nil; i++ {
			d := data[i]
			d.LossFnInputs = maps.Clone(d.LossFnInputs)
			delete(d.LossFnInputs, c.drop)
			if c.mask != nil {
				d.LossFnInputs[tinker.Mask] = tinker.Floats(c.mask)
			}
			_, err = l.Check(i, d, 10)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || tinker.CategoryOf(err) != tinker.User {
			t.Errorf("%v: %v, want a user error with %q", c.config, err, c.want)
		}
	}
}
