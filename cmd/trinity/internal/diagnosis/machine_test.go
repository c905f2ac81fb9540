package diagnosis

import (
	"bytes"
	"math"
	"regexp"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// Two measured models give the rate of a third if each layer takes the same time.
func TestExtend(t *testing.T) {
	rateOf := func(layers int) float64 { return 1 / (0.002 + 0.0005*float64(layers)) }
	for _, layers := range []int{4, 16, 36} {
		if got := extend(rateOf(fewLayers), rateOf(moreLayers), layers); math.Abs(got/rateOf(layers)-1) > 1e-12 {
			t.Errorf("%d layers: %g, want %g", layers, got, rateOf(layers))
		}
	}
	if got := extend(100, 101, 36); got != 101 {
		t.Errorf("a measurement that was disturbed gives %g", got)
	}
}

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
