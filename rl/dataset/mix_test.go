package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// The order of rows of Trinity-RFT's own test of its scheduler (tests/buffer/task_scheduler_test.py, commit 8860c046):
// two sets of 5 and 7 rows, batches of 2, two epochs, taskset.row, with a resume after every third batch.
var upstream = map[string]string{
	"sequential": "1.0 0.0 1.1 0.1 1.2 1.3 0.2 0.3 1.4 1.5 1.6 0.4 1.0 1.1 0.0 1.2 1.3 0.1 0.2 1.4 0.3 1.5 " +
		"1.6 0.4",
	"shuffle": "1.3 0.4 1.2 0.2 1.6 1.4 0.3 0.1 1.1 1.5 1.0 0.0 1.2 1.6 0.4 1.5 1.1 0.1 0.2 1.4 0.0 1.0 " +
		"1.3 0.3",
	"random": "1.0 0.0 1.3 0.2 1.4 1.0 0.2 0.0 1.6 1.3 1.0 0.2 1.0 1.2 0.0 1.2 1.6 0.0 0.0 1.5 0.3 1.2 " +
		"1.6 0.1",
	"offline_easy2hard": "1.3 0.3 1.4 0.0 1.1 1.0 0.2 0.4 1.6 1.5 1.2 0.1 1.3 1.4 0.3 1.1 1.0 0.0 0.2 1.6 0.4 1.5 " +
		"1.2 0.1",
	"difficulty_based": "1.3 0.3 1.6 0.2 1.2 1.3 0.2 0.3 1.2 1.1 1.4 0.2 1.3 1.2 0.4 1.4 1.5 0.4 0.3 1.5 0.1 1.6 " +
		"1.6 0.4",
}

// plansOf are the plans of two sets whose rows are as easy as upstream's.
func plansOf(selector string) []Plan {
	var plans []Plan
	for _, order := range [][]int{{3, 0, 2, 4, 1}, {3, 4, 1, 0, 6, 5, 2}} {
		features := make([][]float64, len(order))
		for place, row := range order {
			features[row] = []float64{1 - float64(place)/10, 0.5}
		}
		if selector == "offline_easy2hard" {
			for i := range features {
				features[i] = features[i][:1]
			}
		}
		plans = append(plans, Plan{BatchSize: 2, Epochs: 2, Selector: selector, Seed: 42, Features: features})
	}
	return plans
}

func newMix(t *testing.T, selector string) *Mix {
	t.Helper()
	m, err := NewMix([]int{5, 7}, plansOf(selector))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMixReadsInUpstreamsOrder(t *testing.T) {
	for selector, want := range upstream {
		m := newMix(t, selector)
		if m.Steps() != 12 {
			t.Fatalf("%s: %d steps, want 12", selector, m.Steps())
		}
		var got []string
		for step := 1; step <= m.Steps(); step++ {
			if step%3 == 1 { // a restart
				m = newMix(t, selector)
			}
			picks, err := m.Batch(step)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range picks {
				got = append(got, fmt.Sprintf("%d.%d", p.Taskset, p.Index))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n got %v\nwant %s", selector, got, want)
		}
		if _, err := m.Batch(13); !errors.Is(err, ErrEnd) {
			t.Errorf("%s: after the end: %v", selector, err)
		}
		again, err := m.Batch(5)
		if first, _ := m.Batch(5); err != nil || !slices.Equal(again, first) {
			t.Errorf("%s: step 5 is %v and %v", selector, again, first)
		}
	}
}

// What was learned changes what is picked, and survives a restart.
func TestMixLearns(t *testing.T) {
	m := newMix(t, "difficulty_based")
	if !m.Adaptive() || newMix(t, "random").Adaptive() {
		t.Error("difficulty_based adapts and random does not")
	}
	m.Learn([]Rate{{0, 0, 0}, {0, 1, 1}, {1, 2, 0.5}})
	data, err := json.Marshal(m.States(4))
	if err != nil {
		t.Fatal(err)
	}
	other := newMix(t, "difficulty_based")
	if err := other.Restore(data); err != nil {
		t.Fatal(err)
	}
	for step := 4; step <= 12; step++ {
		a, _ := m.Batch(step)
		b, _ := other.Batch(step)
		if !slices.Equal(a, b) {
			t.Errorf("step %d is %v, and after a restart %v", step, a, b)
		}
	}
	if n := m.States(4)[0].CurrentIndex + m.States(4)[1].CurrentIndex; n != 6 {
		t.Errorf("before step 4 %d rows are read, want 6", n)
	}
	if err := newMix(t, "shuffle").Restore([]byte(`[{"current_index":1}]`)); err == nil ||
		!strings.Contains(err.Error(), "1 stored states for 2 tasksets") {
		t.Errorf("error %v", err)
	}
}

// The update by hand: one row of three measured, with both features of the first row on the line between the two
// models.
func TestDifficultyBelief(t *testing.T) {
	d, err := newDifficulty(Plan{Features: [][]float64{{0.2, 0.8}, {0.0, 1.0}, {0.5, 0.5}},
		Args: map[string]any{"m": 10, "lamb": 0.5, "rho": 0.25, "tau": 0}})
	if err != nil {
		t.Fatal(err)
	}
	// c = (0.5-0.2)/(0.6+1e-6), so row 1 is guessed at about 0.5 and row 2 at 0.5
	d.learn([]Rate{{Index: 0, Value: 0.5}})
	for i, want := range []float64{1 + 0.75*0.5*10 + 0.25*0.5*10, 1 + 0.25*0.5*10, 1 + 0.25*0.5*10} {
		if math.Abs(d.belief.Alpha[i]-want) > 1e-5 || math.Abs(d.belief.Beta[i]-want) > 1e-5 {
			t.Errorf("row %d: α %v, β %v, want %v", i, d.belief.Alpha[i], d.belief.Beta[i], want)
		}
	}
	d.learn([]Rate{{Index: 0, Value: 0.8}}) // 0.9·0.5 + 0.1·1 = 0.55
	if got := d.belief.Between; math.Abs(got-0.55) > 1e-5 {
		t.Errorf("the model is at %v, want 0.55", got)
	}
	if got := d.Pick(0, 1); got[0] != 0 {
		t.Errorf("row %d is believed to be the nearest to 1, want 0", got[0])
	}
}

// With do_sample the rates are drawn from their distributions: means and spreads as they should be.
func TestBetaDraws(t *testing.T) {
	d, err := newDifficulty(Plan{Features: make([][]float64, 20000), Seed: 3, Args: map[string]any{"do_sample": true}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ab := range [][2]float64{{1, 1}, {2, 6}, {0.5, 0.5}} {
		for i := range d.features {
			d.belief.Alpha[i], d.belief.Beta[i] = ab[0], ab[1]
		}
		sum, sum2, n := 0.0, 0.0, float64(len(d.features))
		for _, s := range d.scores(0) {
			sum, sum2 = sum+1+s, sum2+(1+s)*(1+s)
		}
		a, b := ab[0], ab[1]
		mean, variance := a/(a+b), a*b/((a+b)*(a+b)*(a+b+1))
		if got := sum / n; math.Abs(got-mean) > 5*math.Sqrt(variance/n) {
			t.Errorf("Beta(%v,%v): mean %v, want %v", a, b, got, mean)
		}
		if got := sum2/n - sum*sum/n/n; math.Abs(got-variance) > 0.05*variance {
			t.Errorf("Beta(%v,%v): variance %v, want %v", a, b, got, variance)
		}
	}
}

func TestSelectorsRefuse(t *testing.T) {
	two := [][]float64{{1, 2}, {3, 4}}
	for want, plan := range map[string]Plan{
		"needs feature_keys": {BatchSize: 1, Selector: "offline_easy2hard"},
		"needs feature_keys:": {BatchSize: 1, Selector: "difficulty_based",
			Features: [][]float64{{1}, {2}}},
		"lambda is not an argument; did you mean lamb?": {BatchSize: 1, Selector: "difficulty_based", Features: two,
			Args: map[string]any{"lambda": 1}},
		"tau is -1": {BatchSize: 1, Selector: "difficulty_based", Features: two,
			Args: map[string]any{"tau": -1}},
		"a batch of 9 tasks": {BatchSize: 9, Selector: "random"},
	} {
		if _, err := NewMix([]int{2}, []Plan{plan}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", plan, err, want)
		}
	}
}
