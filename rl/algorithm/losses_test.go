package algorithm

import (
	"math"
	"slices"
	"testing"
)

// joined makes one long sequence of several.
func joined(list ...Sequence) Sequence {
	var out Sequence
	for _, s := range list {
		out.Logprobs, out.Old, out.Ref = slices.Concat(out.Logprobs, s.Logprobs), slices.Concat(out.Old, s.Old),
			slices.Concat(out.Ref, s.Ref)
		out.Advantages, out.Mask = slices.Concat(out.Advantages, s.Advantages), slices.Concat(out.Mask, s.Mask)
	}
	return out
}

// Trinity-RFT adds up all chosen and all rejected sequences of a batch; as one pair they give its value.
func TestDPOGolden(t *testing.T) {
	b := policyFixture(t)
	pair := []Sequence{joined(b[0], b[2], b[4]), joined(b[1], b[3])}
	got := mustPolicy(t, "dpo", nil).Loss(pair, TokenMean)
	want := map[string]float64{"dpo_loss": 0.54067522, "chosen_reward": 0.70824313, "rejected_reward": 0.37579508,
		"accuracy_mean": 1}
	for k, v := range want {
		if !near(got.Metrics[k], v) {
			t.Errorf("%s = %.8f, want %.8f", k, got.Metrics[k], v)
		}
	}
	twice := mustPolicy(t, "dpo", nil).Loss(append(pair, pair...), TokenMean)
	if !near(twice.Value, got.Value) || !near(twice.Gradient[2][1], got.Gradient[0][1]/2) {
		t.Errorf("two equal pairs have loss %v, one has %v: the loss is a mean over pairs", twice.Value, got.Value)
	}
}

func TestDPOFarApart(t *testing.T) {
	one := func(lp float32) Sequence {
		return Sequence{Logprobs: []float32{lp}, Ref: []float32{0}, Mask: []bool{true}}
	}
	got := mustPolicy(t, "dpo", Args{"beta": 1.0}).Loss([]Sequence{one(-1000), one(0)}, TokenMean)
	if got.Value != 1000 || got.Gradient[0][0] != -1 {
		t.Errorf("loss %v, slope %v, want 1000 and -1", got.Value, got.Gradient[0][0])
	}
}

// By hand: of the squares 0.01, 0.04 and 0.25 the mean of the first two is 0.025, of all three 0.1.
func TestM2PODropsTheFarthest(t *testing.T) {
	s := Sequence{
		Logprobs:   []float32{0.1, -0.2, 0.5, -3, 0.7},
		Old:        make([]float32, 5),
		Advantages: []float32{1, -1, 1, 1, -1}, // the last two move against their advantage: always trained
		Mask:       []bool{true, true, true, true, true},
	}
	for _, tt := range []struct {
		threshold float64
		dropped   []bool
	}{
		{1, []bool{false, false, false, false, false}},
		{0.04, []bool{false, false, true, false, false}},
		{0.02, []bool{false, true, true, false, false}},
		{0, []bool{true, true, true, false, false}},
	} {
		got := mustPolicy(t, "m2po", Args{"m2_threshold": tt.threshold}).Loss([]Sequence{s}, SeqMeanTokenSum)
		for k, want := range tt.dropped {
			if (got.Gradient[0][k] == 0) != want {
				t.Errorf("threshold %v: token %d has slope %v, dropped should be %v", tt.threshold, k,
					got.Gradient[0][k], want)
			}
		}
		if want := float64(count(tt.dropped)) / 5; got.Metrics["masked_fraction"] != want ||
			got.Metrics["trust_region_fraction"] != 0.6 {
			t.Errorf("threshold %v: metrics %v, want masked_fraction %v of trust region 0.6", tt.threshold, got.Metrics,
				want)
		}
	}
}

func TestCISPOMasking(t *testing.T) {
	l := mustPolicy(t, "cispo", Args{"enable_mask_clip": true, "mask_clip_range_low": 0.5})
	for _, tt := range []struct {
		ratio, a, slope float64
	}{{1.5, 1, 0}, {1.5, -1, 1.28}, {0.4, -1, 0}, {0.4, 1, -0.4}, {1.1, 1, -1.1}} {
		s := Sequence{Logprobs: []float32{float32(math.Log(tt.ratio))}, Old: []float32{0},
			Advantages: []float32{float32(tt.a)}, Mask: []bool{true}}
		if got := l.Loss([]Sequence{s}, SeqMeanTokenSum).Gradient[0][0]; math.Abs(got-tt.slope) > 1e-6 {
			t.Errorf("ratio %v advantage %v: slope %v, want %v", tt.ratio, tt.a, got, tt.slope)
		}
	}
}

func TestMuSchedule(t *testing.T) {
	s := muSchedule{warm: 4, decay: 10, peak: 0.5, valley: 0.1}
	for step, want := range map[int]float64{0: 0, 2: 0.25, 4: 0.5, 9: 0.3, 14: 0.1, 100: 0.1} {
		if got := s.at(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("mu at step %d = %v, want %v", step, got, want)
		}
	}
	l := mustPolicy(t, "mix_chord", Args{"mu_warmup_steps": 4, "mu_peak": 0.5})
	batch := policyFixture(t)
	for i := range batch {
		batch[i].Step = 2
	}
	if got := l.Loss(batch, TokenMean).Metrics["mu"]; got != 0.25 {
		t.Errorf("mu of a batch of step 2 = %v, want 0.25", got)
	}
}

// Micro-batches of the sizes that the geometry describes add up to the means that Step takes.
func TestMixStepIsTheSumOfMicroBatches(t *testing.T) {
	batch := policyFixture(t) // 2 usual, 3 expert
	l := mustPolicy(t, "mix", Args{"ppo_mini_batch_size": 5, "train_batch_size_usual": 2,
		"train_batch_size_expert": 3}).(wholeStep)
	sum := 0.0
	for i := range batch {
		sum += l.Loss(batch[i:i+1], SeqMeanTokenMean).Value / 5 // 5 micro-batches are accumulated
	}
	if got := l.Step(batch, TokenMean, true).Value; !near(got, sum) {
		t.Errorf("the step's loss is %v, its micro-batches add up to %v", got, sum)
	}
	if got := l.Step(batch[:2], TokenMean, true); got.Metrics["loss"] == 0 || len(got.Metrics) != 5 {
		t.Errorf("without expert sequences the metrics are %v, want those of ppo and loss", got.Metrics)
	}
	if got := l.Step(batch[2:], TokenMean, true); len(got.Metrics) != 2 {
		t.Errorf("without usual sequences the metrics are %v, want sft_loss and loss", got.Metrics)
	}
}
