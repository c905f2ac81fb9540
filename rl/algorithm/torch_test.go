package algorithm

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// Values and gradients against PyTorch's autograd, from testdata/policy.py.
func TestPolicyLossesAgainstTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Loss  string
		Args        Args
		Aggregation Aggregation
		Value       float64
		Gradient    [][]float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		seen[c.Loss] = true
		t.Run(c.Name+"/"+string(c.Aggregation), func(t *testing.T) {
			batch := policyFixture(t)[:len(c.Gradient)]
			got := mustPolicy(t, c.Loss, c.Args).Loss(batch, c.Aggregation)
			if !near(got.Value, c.Value) {
				t.Errorf("loss = %.9f, want %.9f", got.Value, c.Value)
			}
			for i, row := range c.Gradient {
				for k, want := range row {
					if math.Abs(got.Gradient[i][k]-want) > 1e-7+1e-6*math.Abs(want) {
						t.Errorf("gradient[%d][%d] = %.9f, want %.9f", i, k, got.Gradient[i][k], want)
					}
				}
			}
		})
	}
	for name := range PolicyLosses() {
		if !seen[name] {
			t.Errorf("%s has no case in testdata/policy.json", name)
		}
	}
}
