package taskprep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

func samples(rows []dataset.Row) []*Sample {
	list := make([]*Sample, len(rows))
	for i, r := range rows {
		list[i] = &Sample{Row: r, Stats: map[string]float64{}}
	}
	return list
}

// What Data-Juicer's own operators measure and keep, and the priority that Trinity-RFT's service makes of it
// (testdata/golden.py).
func TestAsDataJuicer(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Recipe   []map[string]map[string]any
		Rows     []dataset.Row
		Kept     []dataset.Row
		Stats    []map[string]float64
		Priority []float64
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 15 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		name, _ := json.Marshal(c.Recipe)
		t.Run(string(name), func(t *testing.T) {
			var steps []Step
			for _, step := range c.Recipe {
				for name, args := range step {
					op, err := New(name, args, Surroundings{TextKey: "text"})
					if err != nil {
						t.Fatal(err)
					}
					steps = append(steps, op)
				}
			}
			got, err := Run(t.Context(), steps, samples(c.Rows))
			if err != nil || len(got) != len(c.Kept) {
				t.Fatalf("%d rows, %v, want %d", len(got), err, len(c.Kept))
			}
			for i, s := range got {
				if text(s.Row) != text(c.Kept[i]) {
					t.Errorf("row %d is %v, want %v", i, s.Row, c.Kept[i])
				}
				for key, want := range c.Stats[i] {
					if math.Abs(s.Stats[key]-want) > 1e-12 {
						t.Errorf("row %d has %s %v, want %v", i, key, s.Stats[key], want)
					}
				}
			}
			if c.Priority == nil {
				return
			}
			Sort(got, nil, -1)
			for i, s := range got {
				if p, _ := number(s.Row, "priority"); math.Abs(p-c.Priority[i]) > 1e-12 {
					t.Errorf("row %d has priority %v, want %v", i, p, c.Priority[i])
				}
			}
		})
	}
}

// text tells a row by what is not a number: pyarrow makes 2 of a column with fractions 2.0.
func text(r dataset.Row) string {
	words, _ := r.Get("text")
	tag, _ := r.Get("tag")
	return fmt.Sprint(words, tag)
}

func TestSort(t *testing.T) {
	row := func(name string) dataset.Row { return dataset.Row{{Key: "name", Value: name}} }
	list := samples([]dataset.Row{row("hard"), row("easy"), row("middle"), row("easy too")})
	for i, d := range []float64{0.9, 0.1, 0.5, 0.1} {
		list[i].Stats["llm_difficulty_score"] = d
	}
	names := func(list []*Sample) string {
		var out []string
		for _, s := range list {
			v, _ := s.Row.Get("name")
			out = append(out, v.(string))
		}
		return strings.Join(out, ", ")
	}
	if got := names(Sort(list, nil, -1)); got != "easy, easy too, middle, hard" {
		t.Errorf("the order is %s", got)
	}
	fresh := samples([]dataset.Row{row("hard"), row("easy")})
	fresh[0].Stats["llm_difficulty_score"], fresh[1].Stats["llm_difficulty_score"] = 0.9, 0.1
	if got := names(Sort(fresh, map[string]float64{"difficulty": 1}, 1)); got != "hard" {
		t.Errorf("with another weight the first is %s", got)
	}
	if got := names(Sort(samples([]dataset.Row{row("b"), row("a"), row("c")}), nil, 2)); got != "b, a" {
		t.Errorf("without measures the order is %s", got)
	}
}

// A model's scores are read out of its answers; one that cannot be read is asked for again and never counts as 0:
// the row is left out. A model that never answers is an error.
func TestJudged(t *testing.T) {
	rows := []dataset.Row{{{Key: "question", Value: "2+3?"}, {Key: "answer", Value: "5"}},
		{{Key: "question", Value: "why?"}, {Key: "answer", Value: nil}}}
	var asked atomic.Int64
	s := Surroundings{Workers: 2, Ask: func(model string) (func(context.Context, string, string) (string, error),
		error) {
		if model != "small" {
			t.Errorf("model %s", model)
		}
		return func(_ context.Context, system, user string) (string, error) {
			n := asked.Add(1)
			switch {
			case !strings.Contains(system, "ambiguity") || !strings.Contains(user, "**Question**\n"):
				return "", errors.New("asked otherwise")
			case strings.Contains(user, "why?"):
				return "I cannot say.", nil
			case n == 1:
				return "", errors.New("busy")
			}
			return "Sure, {as you like}: {\"dimension_scores\": {\"linguistic_complexity\": 1, " +
				"\"conceptual_depth\": 2, \"prior_knowledge\": 2, \"step_complexity\": 3, \"ambiguity\": 2}} there", nil
		}, nil
	}}
	op, err := New("llm_difficulty_score_filter", map[string]any{"api_or_hf_model": "small", "min_score": 0.0,
		"input_keys": []any{"question", "answer"}, "field_names": []any{"Question", "Answer"}}, s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Run(t.Context(), []Step{op}, samples(rows))
	if err != nil || len(got) != 1 || got[0].Stats["llm_difficulty_score"] != 0.4 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Run(t.Context(), []Step{op}, samples(rows[1:])); err == nil ||
		!strings.Contains(err.Error(), "no answer of the model can be read") {
		t.Errorf("a model that never gives scores: %v", err)
	}
	s.Ask = func(string) (func(context.Context, string, string) (string, error), error) {
		return func(context.Context, string, string) (string, error) { return "", errors.New("no route") }, nil
	}
	op, err = New("llm_quality_score_filter", map[string]any{"input_keys": []any{"question"}}, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), []Step{op}, samples(rows)); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("a model that is not there: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name string
		args map[string]any
		want string
	}{
		{"human_preference_annotation_mapper", nil, "run Data-Juicer beforehand and name its output"},
		{"text_length_filter", map[string]any{"min_lem": 2},
			`min_lem is not an argument; did you mean min_len?; there are min_len, max_len`},
		{"text_length_filter", map[string]any{"min_len": "much"}, "must be a number"},
		{"alphanumeric_filter", map[string]any{"tokenization": true}, "the ratio is of characters"},
		{"llm_quality_score_filter", map[string]any{"enable_vllm": true}, "over OpenAI's interface"},
		{"llm_quality_score_filter", nil, "no model to ask"},
		{"topk_specified_field_selector", map[string]any{"top_ratio": 2}, "from 0 to 1"},
	} {
		if _, err := New(tt.name, tt.args, Surroundings{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %v: %v, want %q", tt.name, tt.args, err, tt.want)
		}
	}
	op, err := New("text_length_filter", nil, Surroundings{TextKey: "question"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), []Step{op}, samples([]dataset.Row{{{Key: "prompt", Value: "x"}}})); err == nil ||
		!strings.Contains(err.Error(), "the columns are prompt; set target_fields") {
		t.Errorf("a column that is not there: %v", err)
	}
}
