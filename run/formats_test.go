package run

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
)

// Every answer of a conversation is trained when the format says so, and the last one alone otherwise; a row may have
// tools.
func TestConversationsToLearnFrom(t *testing.T) {
	t.Parallel()
	unraced(t, "TestSecondProcessIsRefused/sft")
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	row := `{"message": [{"role":"user","content":"2 and 2 apples?"},{"role":"assistant","content":"4"},` +
		`{"role":"user","content":"and 1 more?"},{"role":"assistant","content":"5"}], "tools": ` +
		`"[{\"type\":\"function\"}]"}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(row, 4)), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := func(more string) []string {
		return and(tiny, "mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=2",
			"buffer.total_steps=1", "trainer.total_steps=1",
			"buffer.trainer_input.experience_buffer={storage_type: file, path: "+path+
				", format: {prompt_type: messages"+more+"}}")
	}
	last := runs(t, load(t, t.TempDir(), cfg("")...), options())[0].Metrics["response_length/mean"]
	all := runs(t, load(t, t.TempDir(), cfg(", enable_concatenated_multi_turn: true")...),
		options())[0].Metrics["response_length/mean"]
	if !(last > 0 && all > last) {
		t.Errorf("%v tokens after the prompt with the last answer, %v with all", last, all)
	}
	for more, want := range map[string]string{
		", image_key: images": `format.image_key: says that column "images" has images; the models here read text`,
		", video_key: clip":   `column "clip" has videos`, ", tools_key: message": ""} {
		_, err := Run(context.Background(), load(t, t.TempDir(), cfg(more)...), options())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// What was sampled is kept as it was before the pipeline, once, through restarts.
func TestRawExperiencesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := and(tiny, "data_processor.experience_pipeline.operators=[{name: reward_filter, args: {threshold: -10}}]")
	for _, steps := range []string{"2", "3"} {
		runs(t, load(t, dir, and(cfg, "trainer.total_steps="+steps)...), options())
	}
	data, err := os.ReadFile(filepath.Join(dir, "trinity-tiny", "gsm8k", "buffer", "explorer_output.jsonl"))
	if n := bytes.Count(data, []byte("\n")); err != nil || n != 12 {
		t.Errorf("%d lines, %v; want 3 steps of 4 samples", n, err)
	}
	_, err = Run(context.Background(),
		load(t, t.TempDir(), and(tiny, "data_processor.experience_pipeline.input_save_path=raw.csv")...), options())
	if err == nil || !strings.Contains(err.Error(), "name a .jsonl file or the URL of a database") {
		t.Errorf("error %v", err)
	}
}

// A queue's path keeps a copy of what is trained on, after what the file has already; a database has tables of both.
func TestCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, url := filepath.Join(dir, "copy.jsonl"), "sqlite:///"+filepath.Join(dir, "copy.db")
	if err := os.WriteFile(file, []byte("{\"of\": \"somebody else\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]string{"file": file, "database": url} {
		cfg := and(tiny, "buffer.trainer_input.experience_buffer={name: mine, path: \""+place+"\"}",
			"data_processor.experience_pipeline.input_save_path="+url)
		for _, steps := range []string{"2", "3"} {
			runs(t, load(t, filepath.Join(dir, name), and(cfg, "trainer.total_steps="+steps)...), options())
		}
	}
	data, err := os.ReadFile(file)
	if n := bytes.Count(data, []byte("\n")); err != nil || n != 1+12 ||
		!bytes.HasPrefix(data, []byte(`{"of": "somebody else"}`)) || !bytes.Contains(data, []byte(`"response_text"`)) {
		t.Errorf("%d lines, %v; want 3 steps of 4 samples after the first", n, err)
	}
	for table, want := range map[string]int{"mine": 12, "pipeline_input": 24} { // the latter of two jobs
		s, err := buffer.OpenSQL(t.Context(), url, table, buffer.SQLOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Total(t.Context()); n != want || err != nil {
			t.Errorf("table %s has %d experiences, %v; want %d", table, n, err, want)
		}
		s.Close()
	}
	if notes := strings.Join(load(t, dir, and(tiny, "buffer.trainer_input.experience_buffer={path: a.csv}")...).Notes(),
		"\n"); !strings.Contains(notes, "a.csv is not used: a queue keeps its copy") {
		t.Errorf("the notes are %s", notes)
	}
}

// Arguments that nobody reads are named; those that a reward reads are not.
func TestArgumentsThatNobodyReads(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := options()
	o.Out = &out
	set := "buffer.explorer_input.taskset.workflow_args={max_turns: 3}"
	rewarded := []string{"buffer.explorer_input.taskset.default_reward_fn_type=math_dapo_reward",
		"buffer.explorer_input.taskset.reward_fn_args={enable_overlong_penalty: true, penalty_factor: 1.0, " +
			"max_response_length: 9, cache_length: 4, reward_name: x}"}
	if _, err := Run(context.Background(),
		load(t, t.TempDir(), and(and(tiny, set, "trainer.total_steps=1"), rewarded...)...), o); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"workflow_args.max_turns", "reward_fn_args.reward_name"} {
		if strings.Count(out.String(), "taskset."+key+" is not used") != 1 {
			t.Errorf("the run says\n%swant one note of %s", out.String(), key)
		}
	}
	if n := strings.Count(out.String(), "is not used: neither"); n != 2 {
		t.Errorf("%d notes, want 2:\n%s", n, out.String())
	}
}

// math_boxed_workflow reads with_think of workflow_args, as upstream's does; that of reward_fn_args is named.
func TestThinkingOfTheBoxedReward(t *testing.T) {
	t.Parallel()
	const taskset = "buffer.explorer_input.taskset."
	in, err := Inspect(t.Context(), load(t, t.TempDir(), and(tiny, taskset+"default_workflow_type=math_boxed_workflow",
		taskset+"default_reward_fn_type=math_boxed_reward", taskset+"reward_fn_args={with_think: true}")...), options())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	want := taskset + "reward_fn_args.with_think is not used: math_boxed_workflow reads workflow_args.with_think"
	if !slices.Contains(in.Notes, want) {
		t.Errorf("the notes are %q; want %q among them", in.Notes, want)
	}
}

// A data set may have a chat template, a way of thinking and tools of its own; the rollout model's count for rollouts.
func TestTemplatesOfTheirOwn(t *testing.T) {
	t.Parallel()
	unraced(t, "TestSecondProcessIsRefused")
	const template = `{% for t in tools or [] %}T{{ t.type }}{% endfor %}{% if enable_thinking %}think it over ` +
		`well{% endif %}{% for m in messages %}{{ m.content }}.{% endfor %}{% if add_generation_prompt %}>{% endif %}`
	path := filepath.Join(t.TempDir(), "plain.jsonl")
	row := `{"q": "2 and 2 apples?", "a": ">4", "tools": [{"type": "function"}]}` + "\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(row, 2)), 0o644); err != nil {
		t.Fatal(err)
	}
	length := func(more ...string) float64 {
		return runs(t, load(t, t.TempDir(), and(tiny, more...)...), options())[0].Metrics["prompt_length/mean"]
	}
	sft := func(format string, more ...string) float64 {
		return length(append(more, "mode=train", "algorithm.algorithm_type=sft", "buffer.train_batch_size=2",
			"buffer.total_steps=1", "trainer.total_steps=1", "model.custom_chat_template='"+template+"'",
			"buffer.trainer_input.experience_buffer={storage_type: file, path: "+path+
				", format: {prompt_type: plaintext, prompt_key: q, response_key: a"+format+"}}")...)
	}
	plain := sft(", tools_key: none")
	if thinking, tools := sft(", tools_key: none, enable_thinking: true"), sft(""); !(thinking > plain) ||
		!(tools > plain) {
		t.Errorf("prompts have %v tokens, %v with thinking, %v with tools", plain, thinking, tools)
	}
	if own := sft(`, tools_key: none, chat_template: "a longer beginning: {% for m in messages %}{{ m.content }}{% ` +
		`endfor %}"`); !(own > plain) {
		t.Errorf("prompts have %v tokens by a template of the data set's own, %v by the model's", own, plain)
	}
	roll := func(more ...string) float64 {
		return length(append(more, "trainer.total_steps=1", "model.custom_chat_template='"+template+"'")...)
	}
	if a, b, c := roll(), roll("explorer.rollout_model.enable_thinking=true"),
		roll("model.enable_thinking=true", "explorer.rollout_model.enable_thinking=false"); !(b > a) || c != a {
		t.Errorf("prompts of rollouts have %v tokens, %v with the rollout model's thinking, %v without it", a, b, c)
	}
}
