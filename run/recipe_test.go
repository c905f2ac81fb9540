package run

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/internal/disk/disktest"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
)

// prepared is a run on tasks that a pipeline prepares: the example of upstream's guide, with a model that finds long
// questions hard.
func prepared(t testing.TB, out, more string) []string {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for _, q := range []string{"Ann has 2 nuts and Bob has 30 more. How many has Bob?",
		"Dan has 3 nuts and 1 more. How many?", "Eve has 4 pears and Gus has 20 more than Eve. How many has Gus?",
		"Why?", "Dan has 3 nuts and 1 more. How many?"} {
		line, err := json.Marshal(map[string]string{"question": q, "answer": "#### 4"})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	input := filepath.Join(dir, "raw.jsonl")
	if err := os.WriteFile(input, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return and(tiny, "buffer.batch_size=1", "buffer.total_steps=2", "trainer.total_steps=2",
		"buffer.explorer_input.taskset.path="+out, "data_processor.task_pipeline={inputs: ["+input+
			"], target_fields: [question, answer], num_process: 2, operators: ["+
			"{name: document_deduplicator}, {name: text_length_filter, args: {min_len: 8}}, {name: "+
			"llm_difficulty_score_filter, args: {api_or_hf_model: judge, min_score: 0.0, input_keys: [question, "+
			"answer], field_names: [Question, Answer]}}]"+more+"}")
}

// judging is a service whose model finds long questions hard.
func judging(t testing.TB) Options {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []job.ChatMessage }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		score := "1"
		if len(body.Messages[1].Content) > 110 {
			score = "5"
		}
		answer := strings.NewReplacer("1,", score+",", "1}", score+"}").Replace(
			`{"dimension_scores": {"linguistic_complexity": 1, "conceptual_depth": 1, "prior_knowledge": 1, ` +
				`"step_complexity": 1, "ambiguity": 1}}`)
		json.NewEncoder(w).Encode(
			map[string]any{"choices": []any{
				map[string]any{"message": job.ChatMessage{Role: "assistant", Content: answer}}}})
	}))
	t.Cleanup(server.Close)
	o := options()
	o.LookupEnv = func(name string) (string, bool) { return server.URL, name == "OPENAI_BASE_URL" }
	return o
}

// The pipeline runs once, before the first step, and the easiest tasks come first. A kill in the midst of it does not
// show.
func TestTaskPipeline(t *testing.T) {
	t.Parallel()
	o := judging(t)
	count := &disktest.Crash{FS: disk.OS()}
	o.FS = count
	out, dir := filepath.Join(t.TempDir(), "made")+"/", t.TempDir()
	args := prepared(t, out, "")
	if b, err := reckon(t.Context(), load(t, dir, args...), o); err != nil || b.Rows != 5 {
		t.Errorf("the estimate beforehand is %+v, %v", b, err)
	}
	want := runs(t, load(t, dir, args...), o)
	data, err := os.ReadFile(filepath.Join(out, "output.jsonl"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if err != nil || len(lines) != 3 || !strings.Contains(lines[0], "Dan has 3") ||
		!strings.Contains(lines[0], `"llm_difficulty_score":0.2`) || !strings.Contains(lines[2], `"priority":`) {
		t.Fatalf("%v: %s", err, data)
	}
	step, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "rollouts", "step_000001.jsonl"))
	if err != nil || !strings.Contains(string(step), "Dan has 3 nuts") {
		t.Errorf("the first step is %v: %s", err, step)
	}
	texts, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "rollouts", "tokens", "step_000001.jsonl"))
	if err != nil || !strings.Contains(string(texts), `"text":"<|im_start|>","special":true`) {
		t.Errorf("the texts of its tokens are %v: %s", err, texts)
	}
	for turn, at := range stops(4, 40) {
		out, dir := filepath.Join(t.TempDir(), "made"), t.TempDir()
		args := prepared(t, out, "")
		o.FS, o.Out = &disktest.Crash{FS: disk.OS(), At: at, PowerLoss: turn%2 == 0}, io.Discard
		_, err := Run(context.Background(), load(t, dir, args...), o)
		if err != nil && !errors.Is(err, disktest.ErrCrash) {
			t.Fatalf("kill at %d: %v", at, err)
		}
		o.FS = nil
		same(t, "after a kill", runs(t, load(t, dir, args...), o), want)
	}
}

func TestTaskPipelineRefuses(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine.jsonl"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := judging(t)
	for _, tt := range []struct {
		out, more string
		want      string
	}{
		{full, "", "which is there already; name another folder"},
		{"new", ", config_path: a.yaml", "a recipe of Data-Juicer, which is not read"},
		{"new", ", top_k: 0", "leaves none of 5 rows"},
		{"new", ", priority_weights: {quality: much}", "must be a number"},
		{"new", ", output: {storage_type: file}", "output.path is missing"},
	} {
		out := tt.out
		if out == "new" {
			out = filepath.Join(t.TempDir(), "new")
		}
		if _, err := Run(t.Context(), load(t, t.TempDir(), prepared(t, out, tt.more)...), o); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.more, err, tt.want)
		}
	}
	o.LookupEnv = nil
	if _, err := Run(t.Context(), load(t, t.TempDir(), prepared(t, filepath.Join(t.TempDir(), "new"), "")...),
		o); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") {
		t.Errorf("without a service: %v", err)
	}
	_, err := Run(t.Context(), load(t, t.TempDir(), and(tiny, "data_processor.task_pipeline={inputs: [a], operators: "+
		"[{name: human_preference_annotation_mapper}]}", "buffer.explorer_input.taskset.path="+
		filepath.Join(t.TempDir(), "new"))...), options())
	if err == nil || !strings.Contains(err.Error(), "run Data-Juicer beforehand") {
		t.Errorf("an operator that is not here: %v", err)
	}
}

// With explorer and trainer in two processes the explorer's prepares the tasks.
func TestTaskPipelineApart(t *testing.T) {
	t.Parallel()
	o := judging(t)
	args := func() []string {
		return and(prepared(t, filepath.Join(t.TempDir(), "tasks"), ""), "buffer.batch_size=2", "buffer.total_steps=1",
			"trainer.total_steps=1")
	}
	want := runs(t, load(t, t.TempDir(), args()...), o)
	got, err := apart(t, t.TempDir(), o, args()...)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "apart", only(got, "actor/", "critic/"), only(want, "actor/", "critic/"))
}
