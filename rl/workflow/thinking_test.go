package workflow

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// going continues a text, or writes 9 after anything else, and notes the answers that it was asked to continue.
type going struct {
	prompt, text string
	asked        *[]string
}

func (g going) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	tokens, _ := req.Prompt.Tokens()
	answer := strings.TrimPrefix(bytewise{}.Decode(tokens), g.prompt)
	*g.asked = append(*g.asked, answer)
	rest, continues := strings.CutPrefix(g.text, answer)
	if !continues {
		rest = "9"
	}
	q := tinker.SampledSequence{StopReason: tinker.StopStop}
	if n := req.Params.MaxTokens; len(rest) > n {
		rest, q.StopReason = rest[:n], tinker.StopLength
	}
	for _, b := range []byte(rest) {
		q.Tokens, q.Logprobs = append(q.Tokens, int32(b)), append(q.Logprobs, -0.5)
	}
	return tinker.Resolved(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil), nil
}

// opening is bytewise with a text behind the messages.
type opening struct {
	bytewise
	text string
}

func (o opening) Prompt(m []chat.Message) (string, []int32, error) {
	text, _, _ := o.bytewise.Prompt(m)
	tokens, err := o.Encode(text + o.text)
	return text + o.text, tokens, err
}

// upstreamsMask masks the first end of a thought in an answer (ThinkingBudgetWorkflow._mask_forced_reasoning_end).
func upstreamsMask(answer, end string) []bool {
	mask := slices.Repeat([]bool{true}, len(answer))
	if at := strings.Index(answer, end); at >= 0 {
		clear(mask[at : at+len(end)])
	}
	return mask
}

// A thought that is open at the budget is ended, and only then are tokens masked, those that upstream masks.
func TestThinkingBudget(t *testing.T) {
	row, err := dataset.Value([]byte(`{"messages": [{"role": "user", "content": "q"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, opens, text, end string
		budget, most, context  int
		answer                 string
		ended                  bool
		asked                  []string
	}{
		{"ends before the budget", "", "<t>ab</t>7", "</t>", 20, 0, 0, "<t>ab</t>7", false, []string{""}},
		{"open at the budget", "", "<t>abcdef", "</t>", 5, 0, 0, "<t>ab</t>9", true, []string{"", "<t>ab</t>"}},
		{"no thought", "", "abcdefgh", "</t>", 5, 0, 0, "abcdefgh", false, []string{"", "abcde"}},
		{"closed before it", "", "<t>a</t>789", "</t>", 9, 0, 0, "<t>a</t>789", false, []string{"", "<t>a</t>7"}},
		{"opened by the prompt", "<t>", "abcdef", "</t>", 0, 0, 0, "</t>9", true, []string{"</t>"}},
		{"closed by the prompt", "<t></t>", "abcdef", "</t>", 2, 0, 0, "abcdef", false, []string{"", "ab"}},
		{"an end without a tag", "", "abcdef", "so", 2, 0, 0, "abso9", true, []string{"", "abso"}},
		{"no room for the end", "", "<t>abcdef", "</t>", 5, 8, 0, "<t>abcde", false, []string{"", "<t>ab"}},
		{"max_tokens below the budget", "", "<t>abcdef", "</t>", 50, 6, 0, "<t>abc", false, []string{""}},
		{"the context ends", "", "<t>abcdef", "</t>", 5, 0, len("user:q\n") + 5, "<t>ab", false, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []string
			r, err := WithDefaults("thinking_budget_workflow", Rollout{
				Sampler: going{"user:q\n" + tt.opens, tt.text, &asked}, Renderer: opening{text: tt.opens},
				RewardName: "contains_reward", Context: tt.context, Params: tinker.SamplingParams{MaxTokens: tt.most},
				Args: map[string]any{"thinking_token_budget": tt.budget, "reasoning_end_str": tt.end}}, Own{})
			if err != nil {
				t.Fatal(err)
			}
			list, err := ThinkingBudget{}.Run(t.Context(), &r, Task{Row: row.(dataset.Row), Truth: "9", Repeat: 1})
			if err != nil {
				t.Fatal(err)
			}
			e := list[0]
			if e.ResponseText != tt.answer || !slices.Equal(asked, tt.asked) {
				t.Errorf("answer %q after %q, want %q after %q", e.ResponseText, asked, tt.answer, tt.asked)
			}
			want := slices.Repeat([]bool{true}, len(tt.answer))
			if tt.ended {
				want = upstreamsMask(tt.answer, tt.end)
			}
			if !slices.Equal(e.ActionMask, want) || (e.Metrics["thought_ended"] == 1) != tt.ended {
				t.Errorf("mask %v, metrics %v, want %v", e.ActionMask, e.Metrics, want)
			}
			if err := e.Validate(); err != nil || *e.Reward != float64(strings.Count(tt.answer, "9")) {
				t.Errorf("reward %v: %v", *e.Reward, err)
			}
		})
	}
}

func TestThinkingBudgetArguments(t *testing.T) {
	for _, tt := range []struct {
		args   map[string]any
		reward string
		says   string
	}{
		{nil, "math_reward", "workflow_args.thinking_token_budget: is missing"},
		{map[string]any{"thinking_token_budget": -1}, "math_reward", "thinking_token_budget"},
		{map[string]any{"thinking_token_budget": 1, "reasoning_end_str": ""}, "math_reward", "is empty"},
		{map[string]any{"thinking_token_budget": 1, "budget": 2}, "math_reward", "budget"},
		{map[string]any{"thinking_token_budget": 1}, "", "name a default_reward_fn_type"},
	} {
		_, err := WithDefaults("thinking_budget_workflow", Rollout{Args: tt.args, RewardName: tt.reward}, Own{})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: error %v, want one with %q", tt.args, err, tt.says)
		}
	}
}
