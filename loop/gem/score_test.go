package gem

import (
	"math"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// episode makes turns with these rewards.
func episode(place string, rewards ...float64) Turns {
	var e Turns
	for i, r := range rewards {
		x := experience.Turn{Prompt: []int32{1, 2, 3}, Response: []int32{4, 5},
			Logprobs: []float32{-0.5, -0.25}}.Experience(experience.EID{Task: place, Step: i})
		x.SetReward(r)
		e = append(e, x)
	}
	return e
}

func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
}

func TestReturns(t *testing.T) {
	got := returns([]Turns{episode("0/0", 0, 0, 1), episode("0/1", 0.5)}, 0.9)
	if want := []float64{0.81, 0.9, 1, 0.5}; !near(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// torch: r = tensor([.81, .9, 1, .5]); (r - r.mean()) / (r.std() + 1e-9)
func TestNormalize(t *testing.T) {
	values := []float64{0.81, 0.9, 1, 0.5}
	normalize(values)
	if want := []float64{0.0347089, 0.4512164, 0.9140024, -1.3999280}; !near(values, want) {
		t.Errorf("got %v, want %v", values, want)
	}
	for _, flat := range [][]float64{{3}, {2, 2, 2}} {
		normalize(flat)
		for _, v := range flat {
			if v != 0 {
				t.Errorf("equal returns became %v, want zeros", flat)
			}
		}
	}
}

// Every turn of an episode gets the same, over the episodes that began in one state; another group does not count.
func TestGroupAdvantages(t *testing.T) {
	got := groupAdvantages([]Turns{episode("0/0", 0, 1), episode("0/1", 0, 0), episode("0/2", 5), episode("0/3", 7),
		episode("1/0", 4)}, 2)
	s := math.Sqrt(0.5)
	if want := []float64{s, s, -s, -s, -s, s, 0}; !near(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestScoreDrawsABatch(t *testing.T) {
	c := Default()
	c.BatchSize, c.UseReBN, c.Gamma = 3, false, 1
	tr := &Trainer{Options: Options{Config: c}}
	episodes := []Turns{episode("0/0", 1), episode("0/1", 2), episode("0/2", 3), episode("0/3", 4), episode("0/4", 5)}
	first, again, other := tr.score(7, episodes), tr.score(7, episodes), tr.score(8, episodes)
	if len(first) != 3 || !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("step 7 draws %v and %v, step 8 %v; want three turns, the same for the same step", first, again, other)
	}
	seen := map[*experience.Experience]bool{}
	for _, s := range first {
		if seen[s] || float64(s.Advantages[0]) != *s.Reward || len(s.Advantages) != s.ResponseLength() {
			t.Errorf("turn %s is there twice or has advantages %v, want its return %v", s.EID, s.Advantages, *s.Reward)
		}
		seen[s] = true
	}
	tr.Config.Method, tr.Config.BatchSize = "shuffled", 5
	moved := 0
	for _, s := range tr.score(7, episodes) {
		if float64(s.Advantages[0]) != *s.Reward {
			moved++
		}
	}
	if moved == 0 {
		t.Error("the control left every return where it was")
	}
}
