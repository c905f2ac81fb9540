package workflow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// scripted answers every request with fixed texts, one byte a token.
type scripted struct {
	answers []string
	err     error
	asked   *tinker.SampleRequest
	stop    tinker.StopReason // "" is an answer that ended
}

func (s scripted) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if s.asked != nil {
		*s.asked = req
	}
	var res tinker.SampleResponse
	for i := range req.NumSamples {
		q := tinker.SampledSequence{StopReason: cmp.Or(s.stop, tinker.StopStop)}
		for _, b := range []byte(s.answers[i%len(s.answers)]) {
			q.Tokens, q.Logprobs = append(q.Tokens, int32(b)), append(q.Logprobs, -0.5)
		}
		res.Sequences = append(res.Sequences, q)
	}
	return tinker.Resolved(res, s.err), nil
}

// bytewise renders messages as role:content lines, one byte a token.
type bytewise struct{}

func (bytewise) Prompt(messages []chat.Message) (string, []int32, error) {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Role + ":" + m.Content + "\n")
	}
	tokens, err := bytewise{}.Encode(b.String())
	return b.String(), tokens, err
}

func (bytewise) Encode(text string) (tokens []int32, err error) {
	for _, c := range []byte(text) {
		tokens = append(tokens, int32(c))
	}
	return tokens, nil
}

func (bytewise) Decode(tokens []int32) string {
	var b []byte
	for _, t := range tokens {
		b = append(b, byte(t))
	}
	return string(b)
}

func rollout(t *testing.T, s tinker.SamplingClient) Rollout {
	t.Helper()
	r, err := WithDefaults("math_workflow", Rollout{Sampler: s, Version: 3, Renderer: bytewise{},
		Params: tinker.DefaultSampling(), Truncate: true}, Own{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var task = Task{Batch: "7", ID: "2", Index: 41, Prompt: "2 and 3 apples?", Truth: "2+3=5\n#### 5", Repeat: 3, Seed: 99}

func TestMathGradesEverySample(t *testing.T) {
	var asked tinker.SampleRequest
	r := rollout(t, scripted{answers: []string{"<think>2+3=5</think><answer>5</answer>",
		"<think></think><answer>6</answer>", "five"}, asked: &asked})
	list, err := Math{}.Run(context.Background(), &r, task)
	if err != nil {
		t.Fatal(err)
	}
	if asked.NumSamples != 3 || *asked.Params.Seed != 99 {
		t.Errorf("asked for %d samples with seed %d, want all 3 at once with the task's seed", asked.NumSamples,
			*asked.Params.Seed)
	}
	if p := list[0].PromptText; !strings.HasPrefix(p, "system:") || !strings.Contains(p, "<think>") ||
		!strings.Contains(p, "user:2 and 3 apples?") {
		t.Errorf("prompt %q lacks the instruction to think, or the task", p)
	}
	var rewards []float64
	for i, e := range list {
		rewards = append(rewards, *e.Reward)
		if want := (experience.EID{Batch: "7", Task: "2", Run: i, Suffix: e.EID.Suffix}); e.EID != want {
			t.Errorf("sample %d is named %v", i, e.EID)
		}
		if e.Info.ModelVersion != 3 || e.Info.TaskIndex != 41 || e.Validate() != nil {
			t.Errorf("sample %d: info %+v, %v", i, e.Info, e.Validate())
		}
	}
	if want := []float64{1.1, 0.1, -0.1}; !slices.Equal(rewards, want) {
		t.Errorf("rewards %v, want %v", rewards, want)
	}
}

func TestLongPrompts(t *testing.T) {
	r := rollout(t, scripted{answers: []string{"x"}, err: errors.New("must not be asked")})
	r.MaxPrompt = 10
	list, err := Simple{}.Run(context.Background(), &r, task)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d experiences, %v; want 3 masked ones", len(list), err)
	}
	for _, e := range list {
		if e.TruncateStatus != experience.PromptTruncated || e.TrainableTokens() != 0 || e.PromptLength != 10 ||
			*e.Reward != 0 || e.Validate() != nil {
			t.Errorf("masked experience %+v", e)
		}
	}
	r.Truncate = false
	if _, err := (Simple{}).Run(context.Background(), &r, task); err == nil ||
		!strings.Contains(err.Error(), "max_prompt_tokens 10") {
		t.Errorf("without truncation: %v", err)
	}
}

func TestReplyPrefixIsPartOfTheAnswer(t *testing.T) {
	r := rollout(t, scripted{answers: []string{"2+3=5</think><answer>5</answer>"}})
	r.ReplyPrefix = "<think>"
	list, err := Math{}.Run(context.Background(), &r, task)
	if err != nil || *list[0].Reward != 1.1 || !strings.HasSuffix(list[0].PromptText, "assistant:<think>\n") {
		t.Errorf("reward %v, prompt %q, %v", *list[0].Reward, list[0].PromptText, err)
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken pipe")
	r := rollout(t, scripted{answers: []string{"x"}, err: broken})
	if _, err := (Math{}).Run(context.Background(), &r, task); !errors.Is(err, broken) {
		t.Errorf("a failed sample: %v", err)
	}
	if _, err := New("alfworld_workflow", Own{}); err == nil ||
		!strings.Contains(err.Error(), "ALFWorld, a Python package") {
		t.Errorf("a workflow of another world: %v", err)
	}
	if _, err := WithDefaults("simple_workflow", Rollout{RewardName: "rm_gallery_reward"}, Own{}); err == nil ||
		!strings.Contains(err.Error(), "RM-Gallery is a Python package") {
		t.Errorf("a reward of another package: %v", err)
	}
	if _, err := New("maths_workflow", Own{}); err == nil || !strings.Contains(err.Error(), "math_workflow") {
		t.Errorf("unknown workflow: %v", err)
	}
	if _, err := WithDefaults("simple_workflow", Rollout{}, Own{}); err == nil ||
		!strings.Contains(err.Error(), "math_reward") {
		t.Errorf("no reward function: %v", err)
	}
}

func TestBoxed(t *testing.T) {
	base := Rollout{Renderer: bytewise{}, Params: tinker.DefaultSampling(),
		Sampler: scripted{answers: []string{`<think>2+3</think>\boxed{5}`, `\boxed{5}`, "5"}}}
	r, err := WithDefaults("math_boxed_workflow", base, Own{})
	if err != nil {
		t.Fatal(err)
	}
	boxes := Task{Prompt: "2 and 3 apples?", Truth: "5", Repeat: 3}
	for _, tt := range []struct {
		name   string
		args   map[string]any
		prompt string
		want   []float64
	}{
		{"plain", nil, "system:Reason step by step", []float64{1, 1, 0}},
		{"with thinking", map[string]any{"with_think": true, "format_score_coef": 0.5}, "system:First reason",
			[]float64{1, 0.5, -0.5}},
		{"base model", map[string]any{"use_base": true}, "System:Reason", []float64{1, 1, 0}},
	} {
		r.Args = tt.args
		list, err := Boxed{}.Run(context.Background(), &r, boxes)
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, e := range list {
			got = append(got, *e.Reward)
		}
		if !slices.Equal(got, tt.want) || !strings.HasPrefix(list[0].PromptText, tt.prompt) {
			t.Errorf("%s: rewards %v of prompt %q, want %v", tt.name, got, list[0].PromptText, tt.want)
		}
	}
	r.Args, r.Sampler = nil, scripted{answers: []string{`\boxed{5} and`}, stop: tinker.StopLength}
	for _, old := range []bool{false, true} {
		list, err := Boxed{TrainTruncated: old}.Run(t.Context(), &r, boxes)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if *e.Reward != 1 || slices.Contains(e.ActionMask, true) != old {
				t.Errorf("an answer that was cut off has reward %v and mask %v, trained should be %v", *e.Reward,
					e.ActionMask, old)
			}
		}
	}
	r.Args = map[string]any{"think": true}
	if _, err := (Boxed{}).Run(context.Background(), &r, boxes); err == nil ||
		!strings.Contains(err.Error(), "with_think") {
		t.Errorf("unknown argument: %v", err)
	}
}

// Distillation samples as simple_workflow does and rewards nothing; the one for mathematics shows what was right.
func TestDistill(t *testing.T) {
	for name, want := range map[string][]float64{"on_policy_distill_workflow": {0, 0},
		"on_policy_distill_math_workflow": {1, 0}} {
		var asked tinker.SampleRequest
		r, err := WithDefaults(name,
			Rollout{Sampler: scripted{answers: []string{`\boxed{7}`, `\boxed{8}`}, asked: &asked}, Renderer: bytewise{},
				Params: tinker.DefaultSampling(), Args: map[string]any{"temperature": 1.0}}, Own{})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := New(name, Own{})
		list, err := w.Run(t.Context(), &r, Task{Prompt: "3+4?", Truth: "7", Repeat: 2})
		if err != nil || len(list) != 2 {
			t.Fatal(list, err)
		}
		for i, e := range list {
			if *e.Reward != want[i] {
				t.Errorf("%s: reward %v of answer %d, want %v", name, *e.Reward, i, want[i])
			}
		}
		for key, v := range map[string]any{"temperature": 0.7, "top_p": 1} {
			if _, err := WithDefaults(name, Rollout{Args: map[string]any{key: v}}, Own{}); err == nil ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%s with %s %v: %v", name, key, v, err)
			}
		}
	}
}
