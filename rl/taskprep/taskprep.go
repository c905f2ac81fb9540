// Package taskprep prepares tasks before a run: operators drop rows of a data set and measure them, the measures become
// a priority, and the rows with the highest come first (data_processor.task_pipeline).
//
// Names, arguments, measures and weights follow Data-Juicer's operators and Trinity-RFT's service around it. This
// package has the operators that need nothing else, and the two that ask a model over OpenAI's interface.
package taskprep

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/pipeline"
)

// Sample is a row with what was measured of it.
type Sample struct {
	Row   dataset.Row
	Stats map[string]float64
}

// Operator drops or measures samples. It keeps their order, unless it is there to order them.
type Operator = pipeline.OperatorOf[*Sample]

// Make makes an operator from its arguments.
type Make = pipeline.MakeOf[*Sample]

// Step is an operator as the configuration names it.
type Step = pipeline.StepOf[*Sample]

// Surroundings are the inputs of operators beside their arguments.
type Surroundings struct {
	TextKey string // the column that operators on text read, unless their text_key names another
	Workers int    // questions to a model at a time
	// Ask asks a model over OpenAI's interface, which is found when an operator is made. Nil: there is none.
	Ask func(model string) (func(ctx context.Context, system, user string) (string, error), error)
}

// Operators is the table of operators by name.
func Operators(s Surroundings) map[string]Make {
	return map[string]Make{
		"text_length_filter":             s.measure("text_len", textLength, "min_len", 10, "max_len"),
		"average_line_length_filter":     s.measure("avg_line_length", averageLine, "min_len", 10, "max_len"),
		"maximum_line_length_filter":     s.measure("max_line_length", longestLine, "min_len", 10, "max_len"),
		"alphanumeric_filter":            s.measure("alnum_ratio", alphanumeric, "min_ratio", 0.25, "max_ratio"),
		"character_repetition_filter":    s.newRepetition,
		"specified_field_filter":         newFieldFilter,
		"specified_numeric_field_filter": newNumericFilter,
		"document_deduplicator":          s.newDeduplicator,
		"topk_specified_field_selector":  newTopSelector,
		"llm_difficulty_score_filter": s.newJudged("llm_difficulty_score", "difficulty", "linguistic_complexity",
			"conceptual_depth", "prior_knowledge", "step_complexity", "ambiguity"),
		"llm_quality_score_filter": s.newJudged("llm_quality_score", "quality", "accuracy", "grammar",
			"informativeness", "coherence"),
	}
}

// New makes one step. The error names what is possible.
func New(name string, args map[string]any, s Surroundings) (Step, error) {
	return pipeline.NewStep("taskprep", name, args, Operators(s), func(known []string) string {
		return fmt.Sprintf("%q is one of Data-Juicer's that need its Python package or a service; run Data-Juicer "+
			"beforehand and name its output in the taskset, or use %s", name, strings.Join(known, ", "))
	})
}

// Run runs steps in order.
func Run(ctx context.Context, steps []Step, list []*Sample) ([]*Sample, error) {
	list, _, _, err := pipeline.RunSteps(ctx, "taskprep", steps, list)
	return list, err
}

// Sort puts the samples with the highest priority first and keeps the first topK of them, all if it is below 0. Without
// any measure, and without a column that is called priority, the order stays.
func Sort(list []*Sample, weights map[string]float64, topK int) []*Sample {
	if len(weights) == 0 {
		weights = map[string]float64{"difficulty": -0.7, "diversity": 0.8, "usage_frequency": -0.5, "quality": 1}
	}
	list = slices.Clone(list)
	measured := false
	for _, s := range list {
		measured = measured || len(s.Stats) > 0
	}
	if measured {
		for _, s := range list {
			score(s, weights)
		}
	}
	slices.SortStableFunc(list, func(a, b *Sample) int {
		x, _ := number(a.Row, "priority")
		y, _ := number(b.Row, "priority")
		return cmp.Compare(y, x)
	})
	if topK >= 0 && topK < len(list) {
		list = list[:topK]
	}
	return list
}

// measures are the parts of quality and difficulty: true if higher is better.
func measures() map[string]map[string]bool {
	const better, worse = true, false
	return map[string]map[string]bool{
		"quality_score":    {"alnum_ratio": better, "char_rep_ratio": worse, "llm_quality_score": better},
		"difficulty_score": {"llm_difficulty_score": better},
	}
}

// score adds to a row its measures, quality and difficulty (their means), and the priority. Without a measure they are
// 0, as in upstream. So are the usage count, as no row was used, and diversity, which upstream does not measure.
func score(s *Sample, weights map[string]float64) {
	stats := dataset.Row{}
	for _, key := range slices.Sorted(maps.Keys(s.Stats)) {
		stats = append(stats, dataset.Field{Key: key, Value: s.Stats[key]})
	}
	priority := 0.0
	s.Row = slices.Clone(s.Row)
	for _, name := range []string{"quality_score", "difficulty_score"} {
		sum, n := 0.0, 0
		table := measures()[name]
		for _, key := range slices.Sorted(maps.Keys(table)) {
			v, ok := s.Stats[key]
			switch {
			case ok && table[key]:
				sum, n = sum+v, n+1
			case ok:
				sum, n = sum+1-v, n+1
			}
		}
		mean := sum / float64(max(1, n))
		stats = append(stats, dataset.Field{Key: name, Value: mean})
		s.Row = set(s.Row, name, mean)
		priority += float64(weights[strings.TrimSuffix(name, "_score")] * mean)
	}
	s.Row = set(s.Row, "__dj__stats__", stats)
	if _, has := s.Row.Get("priority"); !has {
		s.Row = set(s.Row, "priority", priority)
	}
}

func set(r dataset.Row, key string, value any) dataset.Row {
	for i := range r {
		if r[i].Key == key {
			r[i].Value = value
			return r
		}
	}
	return append(r, dataset.Field{Key: key, Value: value})
}
