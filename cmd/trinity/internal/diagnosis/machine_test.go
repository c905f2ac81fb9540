package diagnosis

import (
	"bytes"
	"math"
	"regexp"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
)

// Each shape has the parameters that its name says, in the engine's terms.
func TestShapes(t *testing.T) {
	want := map[string]float64{"SmolLM2-135M": 0.1345e9, "Qwen3-0.6B": 0.596e9, "Llama-3.2-1B": 1.236e9,
		"Llama-3.2-3B": 3.213e9, "Qwen3-4B": 4.02e9}
	for _, s := range shapes {
		dir := t.TempDir()
		if err := s.folder(dir, false); err != nil {
			t.Fatal(err)
		}
		c, err := engine.Describe(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(c.Parameters); math.Abs(got/want[s.name]-1) > 0.005 {
			t.Errorf("%s has %g parameters, want %g", s.name, got, want[s.name])
		}
	}
}

// A row has rates, memory and steps. The shapes are small, of both families.
func TestMachine(t *testing.T) {
	var out bytes.Buffer
	d := Diagnosis{Out: &out, Rank: 4, Length: 32, Samples: 2, Threads: 1, Base: engine.BaseBF16}
	err := d.table(t.Context(), []shape{{"a", false, 96, 32, 8, 2, 1, 16, 64}, {"b", true, 96, 32, 6, 2, 1, 16, 64}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if !regexp.MustCompile(`(?m)^` + name + ` +\d[\d.]* +\d[\d.]* +\d[\d.]* MB +\d[\d.]* MB +[1-9]\d*$`).
			Match(out.Bytes()) {
			t.Errorf("no row of %s:\n%s", name, &out)
		}
	}
}

// Sampling and training take a step's time together.
func TestSteps(t *testing.T) {
	r := budget.Rates{Sampled: 1024, Trained: 512} // 32 s and 128 s of 64 samples of 1024 tokens
	if got := steps(r, 64, 1024); got != "180" {
		t.Errorf("a night has %s steps, want 8 h / 160 s", got)
	}
}
