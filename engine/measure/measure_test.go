package measure

import (
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const tiny = "../../examples/tiny/model"

// logprobs asks the engine for the log-probability of each token of ids after the first.
func logprobs(t *testing.T, ids []int32) []float32 {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: t.TempDir(), Models: map[string]engine.Model{"tiny": {Dir: tiny}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := e.SamplingClient(t.Context(), tinker.SamplingClientRequest{BaseModel: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Sample(t.Context(), tinker.SampleRequest{Prompt: tinker.Text(ids), NumSamples: 1, PromptLogprobs: true,
		Params: tinker.SamplingParams{MaxTokens: 1, Temperature: 1, TopP: 1, TopK: -1}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.PromptLogprobs[1:]
}

// TestChecks: the passes compute what the engine computes, in any order.
func TestChecks(t *testing.T) {
	ids := []int32{5, 3, 8, 1, 9, 2, 6, 0}
	want := logprobs(t, ids)
	sum := 0.0
	for _, x := range want {
		sum -= float64(x)
	}
	b, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, threads := range []int{1, 2, 2} {
		if err := b.Load(tiny, threads); err != nil {
			t.Fatal(err)
		}
		p, err := b.Prefill(ids[:len(ids)-1])
		if last := float64(want[len(want)-1]); err != nil || math.Abs(p.Check-last) > 1e-5 || p.Seconds <= 0 {
			t.Errorf("Prefill = %+v, %v; the engine has %v", p, err, last)
		}
		for _, recompute := range []bool{false, true} {
			r, err := b.Train([][]int32{ids, slices.Clone(ids)}, 4, recompute)
			if mean := sum / float64(len(want)); err != nil || math.Abs(r.Check-mean) > 1e-5 || r.Seconds <= 0 {
				t.Errorf("Train = %+v, %v; the engine's mean loss is %v", r, err, mean)
			}
		}
		if d, err := b.Decode(ids, 3, 4); err != nil || d.Seconds <= 0 {
			t.Errorf("Decode = %+v, %v", d, err)
		}
	}
	if err := b.Load(t.TempDir(), 2); err == nil {
		t.Error("an empty folder was loaded")
	}
}
