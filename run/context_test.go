package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/config"
)

// The tiny model reads 512 tokens.
const tinyContext = 512

// whole are lengths that use all of the tiny model's context.
var whole = []string{"model.max_prompt_tokens=301", "model.max_response_tokens=211"}

// A conversation that grows up to the model's context ends there as a truncated rollout, which every model that
// is asked about it can read: the run continues, and counts it.
func TestConversationsEndWithTheContext(t *testing.T) {
	if testing.Short() {
		t.Skip("plays long conversations")
	}
	t.Parallel()
	const plain = `{%- for m in messages -%}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	reference := "algorithm.kl_loss_fn_args.kl_coef=0.1"
	for name, tt := range map[string]struct {
		template string
		more     []string
	}{
		"reference":         {plain, []string{reference}},
		"several sequences": {editing["drops"], []string{reference}},
		"critic": {plain, []string{"algorithm.algorithm_type=ppo",
			"algorithm.advantage_fn_args={critic_bins: 5}", reference}},
		"critic over sequences": {editing["drops"],
			[]string{"algorithm.algorithm_type=ppo", "algorithm.advantage_fn_args={critic_bins: 5}", reference}},
		"teacher": {plain, []string{"algorithm.algorithm_type=on_policy_distill",
			"explorer.auxiliary_models=[{model_path: examples/tiny/model}]"}},
		"teacher, over sequences": {editing["drops"],
			[]string{"algorithm.algorithm_type=on_policy_distill",
				"explorer.auxiliary_models=[{model_path: examples/tiny/model}]"}},
		"entropies over sequences": {editing["drops"], []string{"algorithm.advantage_fn=clipb", reference}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := lake(t, t.TempDir(), tt.template,
				append(append(whole, "buffer.explorer_input.taskset.rollout_args.max_tokens=211",
					"buffer.total_steps=1", "trainer.total_steps=1"), tt.more...)...)
			full := 0.0
			for _, line := range runs(t, cfg, options()) {
				full += line.Metrics["rollout/out_of_room_count"]
				if line.Metrics["rollout/failed_task_count"] != 0 {
					t.Errorf("step %d: %g tasks failed", line.Step, line.Metrics["rollout/failed_task_count"])
				}
				if kl := line.Metrics["advantage/distill/reverse_kl"]; line.Step == 1 && kl != 0 {
					t.Errorf("the teacher, which is the model, differs by %g at the start", kl)
				}
				fits(t, cfg, line.Step)
			}
			if full == 0 {
				t.Error("no rollout was counted as ended for want of room")
			}
		})
	}
}

// fits checks the lengths of a step's sequences, and that what ended for want of room has no reward.
func fits(t *testing.T, cfg *config.Config, step int) {
	t.Helper()
	for _, r := range kept(t, cfg, step) {
		from := -len(r.PromptTokens)
		for _, to := range append(r.Starts, len(r.Tokens)) {
			if n := to - from; n >= tinyContext {
				t.Errorf("step %d: a sequence of %s has %d tokens; its reference needs one of %d", step, r.ID, n,
					tinyContext)
			}
			from = to
		}
		if r.Metrics["out_of_room"] == 1 && *r.Reward != 0 {
			t.Errorf("step %d: %s ended for want of room and has reward %g", step, r.ID, *r.Reward)
		}
	}
}

// long is a question of more tokens than the tiny model reads.
var long = strings.Repeat("2 and 3 apples. ", 80)

// A question that is longer than the context is a failed task, or a masked one with enable_prompt_truncation.
func TestLongQuestions(t *testing.T) {
	t.Parallel()
	unraced(t, "TestRepeatable")
	data := filepath.Join(t.TempDir(), "tasks.jsonl")
	rows := fmt.Sprintf("{\"question\": \"2 and 3?\", \"answer\": \"#### 5\"}\n{\"question\": %q, \"answer\": \"#### "+
		"5\"}\n", long)
	if err := os.WriteFile(data, []byte(rows), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, truncate := range []bool{false, true} {
		args := []string{"seed=3", "buffer.batch_size=2", "algorithm.repeat_times=2", "buffer.total_steps=1",
			"trainer.total_steps=1", "model.tinker.rank=4",
			"buffer.train_batch_size=2", "buffer.explorer_input.eval_tasksets=[]", "explorer.eval_on_startup=false",
			"algorithm.kl_loss_fn_args.kl_coef=0.1",
			"buffer.explorer_input.taskset.path=" + data, fmt.Sprint("model.enable_prompt_truncation=", truncate)}
		lines := runs(t, load(t, t.TempDir(), append(args, whole...)...), options())
		m := lines[0].Metrics
		wantFailed, wantCut := 1.0, 0.0
		if truncate {
			wantFailed, wantCut = 0, 2
		}
		if m["rollout/failed_task_count"] != wantFailed || m["rollout/prompt_truncated_count"] != wantCut {
			t.Errorf("truncation %v: %g failed tasks and %g truncated prompts, want %g and %g", truncate,
				m["rollout/failed_task_count"], m["rollout/prompt_truncated_count"], wantFailed, wantCut)
		}
	}
}

// Rows of a data set are cut at the context. One that has no answer within it trains nothing and is counted,
// with its pair.
func TestLongRows(t *testing.T) {
	t.Parallel()
	unraced(t, "TestDPOSurvivesKills")
	for name, tt := range map[string]struct {
		short, answer, question string
		count                   float64
	}{
		"sft": {`{"question": "2 and 3?", "response": "5"}`, `{"question": "2 and 3?", "response": %q}`,
			`{"question": %q, "response": "5"}`, 1},
		"dpo": {`{"question": "2 and 3?", "response": "5", "rejected": "6"}`,
			`{"question": "2 and 3?", "response": "5", "rejected": %q}`,
			`{"question": %q, "response": "5", "rejected": "6"}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "rows.jsonl")
			rows := strings.Join([]string{tt.short, fmt.Sprintf(tt.answer, long), fmt.Sprintf(tt.question, long)},
				"\n") + "\n"
			if err := os.WriteFile(data, []byte(rows), 0o644); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"buffer.train_batch_size=3", "buffer.total_steps=1", "trainer.total_steps=1",
				"model.tinker.rank=4",
				"buffer.trainer_input.experience_buffer.path=" + data}, whole...)
			m := runs(t, example(t, t.TempDir(), name, args...), options())[0].Metrics
			if m["sample/unread_answer_count"] != tt.count || m["response_length/max"]+m["prompt_length/min"] < 400 {
				t.Errorf("%g answers were not read, want %g; the longest response has %g tokens",
					m["sample/unread_answer_count"], tt.count, m["response_length/max"])
			}
		})
	}
}
