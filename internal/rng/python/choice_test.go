package python

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// NumPy's choice without replacement and the words of its RandomState; testdata/choice.py wrote the file.
func TestChoiceDrawsWhatNumPyDraws(t *testing.T) {
	data, err := os.ReadFile("testdata/choice.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Choice []struct {
			Seed uint64
			N, K int
			Got  []int
		}
		Legacy []uint32
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden.Choice {
		if got := DefaultRNG(g.Seed).Choice(g.N, g.K); !slices.Equal(got, g.Got) {
			t.Errorf("seed %d: %d of %d are %v, want %v", g.Seed, g.K, g.N, got, g.Got)
		}
	}
	r := Legacy(42)
	for i, want := range golden.Legacy {
		if got := r.Uint32(); got != want {
			t.Errorf("word %d is %d, want %d", i, got, want)
		}
	}
}
