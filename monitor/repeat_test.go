package monitor

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The expected numbers come from numpy itself (testdata/bootstrap.py).
func TestRepeatsEqualNumpy(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "bootstrap.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Values []float64
		Want   map[string]float64
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got := repeats(c.Values)
		if len(got) != len(c.Want) {
			t.Errorf("%v: keys %v, want %v", c.Values, got.Keys(), Metrics(c.Want).Keys())
		}
		for k, want := range c.Want {
			if math.Abs(got[k]-want) > 1e-12 {
				t.Errorf("%v: %s = %v, want %v", c.Values, k, got[k], want)
			}
		}
	}
	if got := repeats([]float64{0.5}); len(got) != 1 || got["mean@1"] != 0.5 {
		t.Errorf("one value gives %v, want mean@1 alone", got)
	}
}

// The values of Trinity-RFT 0.6.0's own function.
func TestRepeatsGolden(t *testing.T) {
	for key, want := range map[string]float64{"mean@4": 0.5, "std@4": 0.5, "best@2": 0.738, "worst@2": 0.278,
		"best@4": 0.926, "worst@4": 0.082} {
		if got := repeats([]float64{1, 0, 0, 1})[key]; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v, want %v", key, got, want)
		}
	}
}

func TestEvaluation(t *testing.T) {
	tasks := []map[string][]float64{
		{"accuracy": {1, 1}, "time/run_execution": {2, 4}},
		{"accuracy": {0, 0}},
	}
	got := Evaluation("eval/test", tasks, false)
	want := Metrics{
		"eval/test/finished_task_count": 2, "eval/test/time/run_execution": 3,
		"eval/test/accuracy/mean@2": 0.5, "eval/test/accuracy/std@2": 0, "eval/test/accuracy/best@2": 0.5,
		"eval/test/accuracy/worst@2": 0.5,
	}
	check(t, got, want)
	check(t, Evaluation("bench/t", []map[string][]float64{{"a": {1}}, {"a": {0}}}, true), Metrics{
		"bench/t/finished_task_count": 2, "bench/t/a/mean@1/mean": 0.5, "bench/t/a/mean@1/max": 1,
		"bench/t/a/mean@1/min": 0, "bench/t/a/mean@1/std": 0.5,
	})
	check(t, Evaluation("eval/x", []map[string][]float64{
		{"tokens:sum": {2, 1}, "ver:last": {1}, "odd:foo": {1}}, {"tokens:sum": {4}, "ver:last": {2}, "odd:foo": {3}},
	}, true), Metrics{"eval/x/finished_task_count": 2, "eval/x/tokens/sum": 7, "eval/x/ver/last": 2,
		"eval/x/odd:foo/mean@1/mean": 2, "eval/x/odd:foo/mean@1/max": 3, "eval/x/odd:foo/mean@1/min": 1,
		"eval/x/odd:foo/mean@1/std": 1})
	check(t, Evaluation("eval/none", nil, false), Metrics{"eval/none/finished_task_count": 0})
}

func check(t *testing.T, got, want Metrics) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("keys %v, want %v", got.Keys(), want.Keys())
	}
	for k, w := range want {
		if math.Abs(got[k]-w) > 1e-12 {
			t.Errorf("%s = %v, want %v", k, got[k], w)
		}
	}
}
