package taskprep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/reward"
)

// judged keeps the rows whose score by a model lies within bounds.
type judged struct {
	bounds
	stat       string
	dimensions []string // each from 1 to 5; the score is their mean over 5
	keys       []string // columns that are shown
	names      []string // what they are called
	system     string
	input      string // with {data}
	field      string // with {field_name} and {field_data}
	tries      int
	workers    int
	ask        func(ctx context.Context, system, user string) (string, error)
}

// newJudged makes an operator that has a model score rows by dimensions.
func (s Surroundings) newJudged(stat, what string, dimensions ...string) Make {
	return func(args map[string]any) (Operator, error) {
		a := arg.Read(args)
		j := &judged{bounds: boundsOf(a, "min_score", 0.5, "max_score", 1), stat: stat, dimensions: dimensions,
			workers: max(1, s.Workers),
			keys:    a.Texts("input_keys", "text"), names: a.Texts("field_names", "Text"),
			system: a.Text("system_prompt", instruction(what, dimensions)),
			input:  a.Text("input_template", "# Data\n'''\n{data}\n'''\n\n# Response\njson\n"),
			field:  a.Text("field_template", "**{field_name}**\n{field_data}"), tries: a.Int("try_num", 3, 0)}
		model := a.Text("api_or_hf_model", "gpt-4o")
		for _, local := range []string{"is_hf_model", "enable_vllm"} {
			if a.Bool(local, false) {
				a.Wrong(local, true, "false: the model is asked over OpenAI's interface")
			}
		}
		if len(j.keys) != len(j.names) {
			a.Wrong("field_names", j.names, "as many as input_keys")
		}
		if err := a.Close(); err != nil {
			return nil, err
		}
		if s.Ask == nil {
			return nil, errors.New("there is no model to ask")
		}
		var err error
		j.ask, err = s.Ask(model)
		return j, err
	}
}

// instruction asks for the form that answer reads.
func instruction(what string, dimensions []string) string {
	return fmt.Sprintf("Judge the %s of the data that the user shows, for training a language model. Give each of "+
		"these dimensions a whole number from 1 (lowest) to 5 (highest): %s. "+
		"Answer with one JSON object and nothing else: {\"dimension_scores\": {%s}, \"rationale\": \"one sentence\"}",
		what, strings.Join(dimensions, ", "), `"`+strings.Join(dimensions, `": 1, "`)+`": 1`)
}

// Process implements Operator.
func (j *judged) Process(ctx context.Context, list []*Sample) (kept []*Sample, _ map[string]float64, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers)
	scores, read := make([]float64, len(list)), make([]bool, len(list))
	for i, s := range list {
		g.Go(func() (err error) {
			scores[i], read[i], err = j.score(ctx, s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	if len(list) > 0 && !slices.Contains(read, true) {
		return nil, nil, fmt.Errorf("%s: no answer of the model can be read; it must be one JSON object with "+
			"dimension_scores for %s", j.stat, strings.Join(j.dimensions, ", "))
	}
	for i, s := range list {
		if !read[i] {
			continue
		}
		s.Stats[j.stat] = scores[i]
		if j.keep(scores[i]) {
			kept = append(kept, s)
		}
	}
	return kept, nil, nil
}

// score asks until an answer can be read. A row without one has no score and is left out; Data-Juicer gives it 0. A
// model that never answers is an error.
func (j *judged) score(ctx context.Context, s *Sample) (score float64, read bool, _ error) {
	var parts []string
	for i, key := range j.keys {
		text, err := textOf(s.Row, key)
		if err != nil {
			return 0, false, err
		}
		parts = append(parts, strings.NewReplacer("{field_name}", j.names[i], "{field_data}", text).Replace(j.field))
	}
	user := strings.ReplaceAll(j.input, "{data}", strings.Join(parts, "\n\n"))
	var failed error
	answered := false
	for range max(1, j.tries) {
		text, err := j.ask(ctx, j.system, user)
		if err != nil {
			failed = err
			continue
		}
		answered = true
		if v, ok := j.read(text); ok {
			return v, true, nil
		}
	}
	if !answered {
		return 0, false, fmt.Errorf("%s: %w", j.stat, failed)
	}
	return 0, false, nil
}

// read returns the score in an answer: the one of the first JSON object with all dimensions.
func (j *judged) read(text string) (score float64, ok bool) {
	ok = reward.FindJSON(text, func(raw []byte) (fits bool) {
		score, fits = j.mean(raw)
		return fits
	})
	return score, ok
}

func (j *judged) mean(raw []byte) (float64, bool) {
	var answer struct {
		Scores map[string]*float64 `json:"dimension_scores"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return 0, false
	}
	sum := 0.0
	for _, d := range j.dimensions {
		v := answer.Scores[d]
		if v == nil {
			return 0, false
		}
		sum += *v
	}
	return sum / float64(len(j.dimensions)) / 5, true
}
