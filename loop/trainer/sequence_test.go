package trainer

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// episode is two turns in two sequences: prompt 1 2, answer 3 4; prompt 5 6 7, answer 8.
func episode() *experience.Experience {
	e := experience.Turn{Prompt: []int32{1, 2}, Response: []int32{3, 4, 5, 6, 7, 8},
		Logprobs: []float32{-1, -2, 0, 0, 0, -3}}.Experience(experience.EID{Batch: "1", Task: "0"})
	e.Starts = []int{4}
	e.ActionMask = []bool{true, true, false, false, false, true}
	e.Info.ModelVersion = 6
	e.SetReward(1)
	e.Advantages = []float32{2, 2, 0, 0, 0, 2}
	return e
}

// An episode of several sequences is a datum for each, which no model reads together.
func TestEpisodeIsTakenApart(t *testing.T) {
	batch := []*experience.Experience{sample(6, -1, -2), episode()}
	list, err := data(batch)
	if err != nil {
		t.Fatal(err)
	}
	var in, targets [][]int32
	for _, d := range list {
		tokens, _ := d.ModelInput.Tokens()
		in = append(in, tokens)
		var ids []int32
		for _, id := range d.LossFnInputs[tinker.TargetTokens].Int {
			ids = append(ids, int32(id))
		}
		targets = append(targets, ids)
	}
	if want := [][]int32{{1, 2, 3, 4}, {1, 2, 3}, {5, 6, 7}}; !reflect.DeepEqual(in, want) {
		t.Errorf("inputs %v, want %v", in, want)
	}
	if want := [][]int32{{2, 3, 4, 5}, {2, 3, 4}, {6, 7, 8}}; !reflect.DeepEqual(targets, want) {
		t.Errorf("targets %v, want %v", targets, want)
	}
	rows := [][]float32{{1, 2, 3, 4}, {5, 6, 7}, {8, 9, 10}}
	whole, err := joined(batch, rows, 1)
	if want := [][]float32{{1, 2, 3, 4}, {5, 6, 7, 0, 8, 9, 10}}; err != nil || !reflect.DeepEqual(whole, want) {
		t.Errorf("together %v, %v, want %v", whole, err, want)
	}
	if got := apart(batch, whole, 1); !reflect.DeepEqual(got, rows) {
		t.Errorf("apart again %v, want %v", got, rows)
	}
	for want, rows := range map[string][][]float32{
		"answered for 2 sequences, and sample 1/0/0/0/ is": {{1, 2, 3, 4}, {5, 6, 7}},
		"answered for 4 sequences where 3":                 {{1, 2, 3, 4}, {5, 6, 7}, {8, 9, 10}, {1}},
		"2 numbers for the 3 targets":                      {{1, 2, 3, 4}, {5, 6, 7}, {8, 9}},
	} {
		if _, err := joined(batch, rows, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", rows, err, want)
		}
	}
}

// An episode counts once: the gradient at each of its three tokens is −A/(3·n), whatever sequence the token is in.
func TestEpisodeCountsOnce(t *testing.T) {
	tr := &Trainer{Options: Options{Method: grpo(t)}, exact: true}
	batch := []*experience.Experience{sample(6, -1, -2), episode()}
	known, _ := tr.knownLogprobs(7, batch)
	if want := []float32{0, -1, -2, 0, 0, 0, -3}; !reflect.DeepEqual(known[1], want) {
		t.Fatalf("known %v, want %v", known[1], want)
	}
	all, _, err := tr.gradient(7, batch, apart(batch, known, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	grad := apart(batch, all, 1)
	for i, want := range [][]float32{{0, 0, -0.5, -0.5}, {0, -1. / 3, -1. / 3}, {0, 0, -1. / 3}} {
		for j := range want {
			if math.Abs(float64(grad[i][j]-want[j])) > 1e-6 {
				t.Errorf("datum %d: gradient %v, want %v", i, grad[i], want)
				break
			}
		}
	}
}

// What a service's policy loss reads: zeros on the first P-1 targets, then the response's own values, 0 where it is not
// trained; each sequence of an experience in its datum.
func TestWithAdvantages(t *testing.T) {
	one := &experience.Experience{Tokens: []int32{1, 2, 3, 4, 5}, PromptLength: 3, Logprobs: []float32{-0.5, -0.25},
		ActionMask: []bool{true, true}, Advantages: []float32{2, 2}}
	two := &experience.Experience{Tokens: []int32{1, 2, 3, 7, 8, 9}, PromptLength: 2, Starts: []int{3},
		Logprobs: []float32{-1, 0, 0, -2}, ActionMask: []bool{true, false, false, true},
		Advantages: []float32{3, 3, 3, 3}}
	batch := []*experience.Experience{one, two}
	list, err := data(batch)
	if err != nil {
		t.Fatal(err)
	}
	withAdvantages(batch, list)
	for i, want := range []struct{ logprobs, advantages []float32 }{
		{[]float32{0, 0, -0.5, -0.25}, []float32{0, 0, 2, 2}},
		{[]float32{0, -1}, []float32{0, 3}},
		{[]float32{0, -2}, []float32{0, 3}},
	} {
		in := list[i].LossFnInputs
		if got := in[tinker.Logprobs].Float; !slices.Equal(got, want.logprobs) {
			t.Errorf("datum %d: logprobs %v, want %v", i, got, want.logprobs)
		}
		if got := in[tinker.Advantages].Float; !slices.Equal(got, want.advantages) {
			t.Errorf("datum %d: advantages %v, want %v", i, got, want.advantages)
		}
	}
	tokens, _ := list[0].ModelInput.Tokens()
	targets := list[0].LossFnInputs[tinker.TargetTokens].Int
	if !slices.Equal(tokens, []int32{1, 2, 3, 4}) || !slices.Equal(targets, []int64{2, 3, 4, 5}) {
		t.Errorf("input %v and targets %v, want the tokens without the last and without the first", tokens, targets)
	}
}
