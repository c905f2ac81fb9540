package python_test

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// record is the output of testdata/draws.py for one seed; the draws follow each other in one stream.
type record struct {
	Seed    uint64    `json:"seed,string"`
	Bits    []uint32  `json:"bits"` // the last 3 of 700
	RandInt []int     `json:"randint"`
	Random  []float64 `json:"random"`
	Shuffle []int     `json:"shuffle"`
	Samples []struct {
		N, K int
		Got  []int
	} `json:"samples"`
	Choices     []int   `json:"choices"`
	After       float64 `json:"after"`
	Integers    []int   `json:"integers"`
	Permutation []int   `json:"permutation"`
	Large       []int   `json:"large"`
}

func load(t *testing.T) []record {
	data, err := os.ReadFile("testdata/draws.json")
	if err != nil {
		t.Fatal(err)
	}
	var records []record
	if err := json.Unmarshal(data, &records); err != nil {
		t.Fatal(err)
	}
	return records
}

func TestRandomDrawsWhatCPythonDraws(t *testing.T) {
	for _, want := range load(t) {
		got := record{Seed: want.Seed, Integers: want.Integers, Permutation: want.Permutation, Large: want.Large}
		r := python.New(want.Seed)
		for range 697 {
			r.Uint32()
		}
		for range 3 {
			got.Bits = append(got.Bits, r.Uint32())
		}
		for _, bounds := range [][2]int{{2, 2}, {1, 10}, {1, 50}, {-5, 5}, {0, 1 << 31}} {
			got.RandInt = append(got.RandInt, r.Int(bounds[0], bounds[1]))
		}
		for range 3 {
			got.Random = append(got.Random, r.Float64())
		}
		got.Shuffle = make([]int, 30)
		for i := range got.Shuffle {
			got.Shuffle[i] = i
		}
		r.Shuffle(30, func(i, j int) { got.Shuffle[i], got.Shuffle[j] = got.Shuffle[j], got.Shuffle[i] })
		for _, s := range want.Samples {
			s.Got = r.Sample(s.N, s.K)
			got.Samples = append(got.Samples, s)
		}
		got.Choices = r.Choices(7, 9)
		got.After = r.Float64()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d:\n got %+v\nwant %+v", want.Seed, got, want)
		}
	}
}

func TestGeneratorDrawsWhatNumPyDraws(t *testing.T) {
	for _, want := range load(t) {
		g := python.DefaultRNG(want.Seed)
		var integers []int
		for _, n := range []int{1, 2, 3, 36, 1000, 1 << 31, 5} {
			integers = append(integers, g.Integer(n))
		}
		if !reflect.DeepEqual(integers, want.Integers) {
			t.Errorf("seed %d: integers %v, want %v", want.Seed, integers, want.Integers)
		}
		if got := g.Permutation(40); !reflect.DeepEqual(got, want.Permutation) {
			t.Errorf("seed %d: permutation %v, want %v", want.Seed, got, want.Permutation)
		}
		if got := g.Permutation(5000)[:5]; !reflect.DeepEqual(got, want.Large) {
			t.Errorf("seed %d: permutation(5000) begins %v, want %v", want.Seed, got, want.Large)
		}
	}
}

func TestACopyDrawsTheSameAgain(t *testing.T) {
	r := python.New(3)
	r.Uint32()
	c := *r
	for range 1000 {
		if a, b := r.Uint32(), c.Uint32(); a != b {
			t.Fatalf("a copy drew %d, the original %d", b, a)
		}
	}
}
