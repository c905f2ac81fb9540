package algorithm

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

func TestBatchMetrics(t *testing.T) {
	a := group("a", 1, 0)
	b := group("b", 0.5)
	b[0].Tokens = append(b[0].Tokens, 4, 5) // prompt of 2, response of 3
	b[0].PromptLength = 2
	b[0].ActionMask = []bool{true, true, true}
	b[0].TokenRewards = []float32{0.25, 0.25, 1}
	b[0].Info.ModelVersion = 3
	b[0].Metrics = map[string]float64{experience.VersionDrift: 2}
	for i, e := range []*experience.Experience{a[0], a[1], b[0]} {
		setAdvantage(e, float64(i))
	}
	got := BatchMetrics(append(a, b...))
	want := map[string]float64{
		"critic/score/mean": 2.5 / 3, "critic/score/max": 1.5, "critic/score/min": 0,
		"critic/rewards/mean": 2.5 / 3, "critic/rewards/max": 1.5, "critic/rewards/min": 0,
		"critic/advantages/mean": (0 + 0 + 1 + 0 + 2 + 2 + 2) / 7.0, "critic/advantages/max": 2,
		"critic/advantages/min": 0,
		"critic/returns/mean":   1, "critic/returns/max": 2, "critic/returns/min": 0,
		"response_length/mean": 7.0 / 3, "response_length/max": 3, "response_length/min": 2,
		"response_length/clip_ratio": 1.0 / 3,
		"prompt_length/mean":         4.0 / 3, "prompt_length/max": 2, "prompt_length/min": 1,
		"prompt_length/clip_ratio":  1.0 / 3,
		"sample/model_version/mean": 1, "sample/model_version/max": 3, "sample/model_version/min": 0,
		"sample/model_version_drift/mean": 2.0 / 3, "sample/model_version_drift/max": 2,
		"sample/model_version_drift/min": 0,
		"sample/task_count":              2, "perf/total_num_tokens": 11,
	}
	if len(got) != len(want) {
		t.Errorf("%d metrics, want %d: %v", len(got), len(want), got)
	}
	for k, w := range want {
		if v, ok := got[k]; !ok || math.Abs(v-w) > 1e-7 {
			t.Errorf("%s = %v, want %v", k, v, w)
		}
	}
	if got := BatchMetrics([]*experience.Experience{{Tokens: []int32{1}, ActionMask: []bool{true}}}); len(got) != 16 {
		t.Errorf("an ungraded experience gives %v, want no critic metrics", got)
	}
}

func TestSampleTrainKL(t *testing.T) {
	batch := []Sequence{
		{Logprobs: []float32{-1, -2, 5}, Old: []float32{-0.5, -3, 0}, Mask: []bool{true, true, false}},
		{Logprobs: []float32{-1}, Mask: []bool{true}},
	}
	if v1, v2 := SampleTrainKL(batch); v1 != (0.5-1)/2 || v2 != (0.25+1)/4 {
		t.Errorf("got %v and %v, want -0.25 and 0.3125", v1, v2)
	}
	batch[0].Old = batch[0].Logprobs
	if v1, v2 := SampleTrainKL(batch); v1 != 0 || v2 != 0 {
		t.Errorf("on policy: %v and %v, want exactly 0", v1, v2)
	}
	if v1, v2 := SampleTrainKL(nil); v1 != 0 || v2 != 0 {
		t.Errorf("of nothing: %v and %v", v1, v2)
	}
}
