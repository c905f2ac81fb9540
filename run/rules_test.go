package run_test

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

const rules = "examples/rules/"

// The checker gives 1 to answers that keep the rule, and at most 0.2 to others, such as those that got round it once.
func TestRulesChecker(t *testing.T) {
	checker := checkerOf(t, rules+"rules.py:reward")
	for _, c := range []struct {
		kind, topic string
		limit       int
		answer      string
		least, most float64
	}{
		{"exactly", "the moon", 6, "The moon is bright and round.", 1, 1},
		{"exactly", "the moon", 5, "The moon has exactly 5 words.", 0, 0.2},
		{"exactly", "the moon", 5, "The moon is bright and round.", 0.15, 0.15},
		{"most", "tea", 7, "The tea is very hot.", 1, 1},
		{"most", "tea", 7, "Tea tea tea tea tea.", 0, 0.2},
		{"most", "tea", 7, "the tea is very hot", 0, 0.2},
		{"word", "a dog", 10, "The old dog is sleeping.", 1, 1},
		{"word", "a dog", 10, "The dog is sleeping.", 0, 0.2},
		{"question", "a hotel", 8, "Is the hotel far away?", 1, 1},
		{"question", "a hotel", 8, "The hotel is far away.", 0, 0.2},
		{"three", "a hotel", 3, "bed, bath, lobby", 1, 1},
		{"three", "a hotel", 3, "hotel, bath, lobby", 0, 0.2},
		{"three", "a hotel", 3, "", 0, 0},
	} {
		row := dataset.Row{{Key: "kind", Value: c.kind}, {Key: "topic", Value: c.topic}, {Key: "limit", Value: c.limit},
			{Key: "word", Value: "old"}}
		scores, err := checker(reward.Sample{Response: c.answer, Columns: row})
		if err != nil {
			t.Fatal(err)
		}
		if got := scores.Total(); got < c.least-1e-9 || got > c.most+1e-9 {
			t.Errorf("%s, %d: %q is worth %g, want %g to %g", c.kind, c.limit, c.answer, got, c.least, c.most)
		}
	}
}
