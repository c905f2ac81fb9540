package workflow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// forgetful renders as turnwise does, and shows only the first bytes of earlier answers.
type forgetful struct {
	turnwise
	keep int
}

func (f forgetful) Prompt(messages []chat.Message) (string, []int32, error) {
	var shown []chat.Message
	for _, m := range messages {
		if m.Role == "assistant" {
			m.Content = m.Content[:min(f.keep, len(m.Content))]
		}
		shown = append(shown, m)
	}
	return f.turnwise.Prompt(shown)
}

// path are the answers of an episode on this map, which ends at the goal.
var (
	smallLake = []any{"SFH", "FFF", "HFG"}
	path      = []string{"```Down```", "I think ```right```", "```3```", "nonsense", "``` down ```"}
)

// If the renderer shows earlier answers differently, the episode is several sequences of one experience:
// each begins with what the model was shown, and only what it wrote is trained, once.
func TestEpisodeInSeveralSequences(t *testing.T) {
	var shown []string
	model := byPrompt(func(prompt string) string {
		shown = append(shown, prompt)
		return path[len(shown)-1]
	})
	r := Rollout{Args: map[string]any{"desc": smallLake}, Sampler: model, Renderer: forgetful{keep: 9},
		Params: tinker.DefaultSampling()}
	r.Params.MaxTokens = 4000
	list, err := FrozenLake{}.Run(context.Background(), &r, Task{Repeat: 1, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	e := list[0]
	if err := e.Validate(); err != nil {
		t.Fatal(err)
	}
	// The first two answers are longer than what is shown of them; the others are not.
	var want []string
	for i, prompt := range shown {
		whole := prompt + path[i]
		if n := len(want); n > 0 && strings.HasPrefix(prompt, want[n-1]) {
			want[n-1] = whole
		} else {
			want = append(want, whole)
		}
	}
	var got []string
	for _, s := range e.Spans() {
		got = append(got, bytewise{}.Decode(e.Tokens[s[0]:s[1]]))
	}
	if !slices.Equal(got, want) || len(got) != 3 {
		t.Errorf("%d sequences\n%q\nwant\n%q", len(got), got, want)
	}
	var wrote []byte
	for i, token := range e.Response() {
		if e.ActionMask[i] {
			wrote = append(wrote, byte(token))
		}
		if e.ActionMask[i] != (e.Logprobs[i] == -0.25) {
			t.Fatalf("token %d: trained %v with the logprob %g", i, e.ActionMask[i], e.Logprobs[i])
		}
	}
	if string(wrote) != strings.Join(path, "") {
		t.Errorf("trained on %q", wrote)
	}
	if *e.Reward != 1 || e.Metrics[NewSequences] != float64(len(e.Starts)) {
		t.Errorf("reward %g, metrics %v, sequences at %v", *e.Reward, e.Metrics, e.Starts)
	}
}

// failing fails every third request.
type failing struct{ asked atomic.Int64 }

func (f *failing) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if f.asked.Add(1)%3 == 0 {
		return nil, errors.New("no paper")
	}
	return scripted{answers: []string{`\boxed{99} 9 9 9`}}.Sample(ctx, req)
}

// A workflow of several turns returns no experiences beside an error.
func TestFailedEpisodesReturnNothing(t *testing.T) {
	for name, w := range map[string]Workflow{"frozen_lake_workflow": FrozenLake{}, "sudoku_workflow": Sudoku{},
		"gem_workflow": Gem{}} {
		args := map[string]any{"desc": smallLake}
		switch name {
		case "gem_workflow":
			args = guessing
		case "sudoku_workflow":
			args = nil
		}
		r, err := playing(t, &failing{}, guessing)
		if err != nil {
			t.Fatal(err)
		}
		r.Args, r.Renderer = args, turnwise{}
		list, err := w.Run(context.Background(), &r, Task{Repeat: 4, Seed: 5})
		if err == nil || list != nil {
			t.Errorf("%s: %v, %v; want the sampler's error alone", name, list, err)
		}
	}
}

// Answers end with the context. An episode without room for another turn is cut, and has neither a reward nor,
// if it would not fit, the turn that was not answered.
func TestRoom(t *testing.T) {
	desc := []any{"SFFG", "FFFF"}
	answer := byPrompt(func(string) string { return "```Up```" })
	run := func(room, most int) (*experience.Experience, error) {
		r := Rollout{Args: map[string]any{"desc": desc}, Sampler: answer, Renderer: turnwise{},
			Params: tinker.DefaultSampling(), Context: room}
		r.Params.MaxTokens = most
		list, err := FrozenLake{}.Run(context.Background(), &r, Task{Repeat: 1})
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	whole, err := run(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	first := whole.PromptLength
	for name, tt := range map[string]struct {
		room, most int
		steps      float64
		tokens     int // in all; 0: not said
		cut        bool
	}{
		"all of it":                    {100_000, 0, 10, len(whole.Tokens), false},
		"room for one answer":          {first + 8, 0, 1, first + 8, true},
		"the first answer is cut":      {first + 3, 0, 1, first + 3, true},
		"room for part of the second":  {first + 8 + 20, 0, 1, first + 8, true},
		"the limit, with a known room": {100_000, 20, 1, 0, true},
	} {
		e, err := run(tt.room, tt.most)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Metrics["env_steps"] != tt.steps && name != "the first answer is cut" || tt.tokens > 0 &&
			len(e.Tokens) != tt.tokens ||
			(e.TruncateStatus == experience.ResponseTruncated) != tt.cut || tt.cut != (e.Metrics[OutOfRoom] == 1) ||
			e.Validate() != nil {
			t.Errorf("%s: %d tokens (the prompt has %d), %q, metrics %v", name, len(e.Tokens), first,
				e.TruncateStatus, e.Metrics)
		}
		if len(e.Tokens) > tt.room {
			t.Errorf("%s: %d tokens in a context of %d", name, len(e.Tokens), tt.room)
		}
	}
	if _, err := run(first, 0); tinker.CategoryOf(err) != tinker.User ||
		!strings.Contains(err.Error(), "leaves no room") {
		t.Errorf("a first prompt as long as the context: %v", err)
	}
}

// A single answer ends with the context too, and a question that fills it is a failed task or a masked one.
func TestRoomOfOneTurn(t *testing.T) {
	r := rollout(t, byPrompt(func(string) string { return "<think></think><answer>5</answer>" }))
	_, prompt, err := r.Renderer.Prompt(messages(&r, task))
	if err != nil {
		t.Fatal(err)
	}
	task := task
	task.Repeat = 1
	r.Truncate, r.Context = false, len(prompt)+5
	list, err := Math{}.Run(context.Background(), &r, task)
	if err != nil || list[0].ResponseLength() != 5 || list[0].TruncateStatus != experience.ResponseTruncated ||
		list[0].Metrics[OutOfRoom] != 1 {
		t.Errorf("%v, %v; want 5 tokens, cut and counted", list, err)
	}
	r.Context = len(prompt)
	if _, err := (Math{}).Run(context.Background(), &r, task); tinker.CategoryOf(err) != tinker.User ||
		!strings.Contains(err.Error(), "the prompt of row 41 has") {
		t.Errorf("a prompt as long as the context: %v", err)
	}
	r.Truncate = true
	if list, err = (Math{}).Run(context.Background(), &r, task); err != nil ||
		list[0].TruncateStatus != experience.PromptTruncated || len(list[0].Tokens) > r.Context {
		t.Errorf("%v, %v; want a masked experience within the context", list, err)
	}
}

// With enable_prompt_truncation an over-long first prompt is a masked experience for each repetition, in
// workflows of several turns too.
func TestLongFirstPromptsAreMasked(t *testing.T) {
	for name, w := range map[string]Workflow{"frozen_lake_workflow": FrozenLake{}, "sudoku_workflow": Sudoku{},
		"gem_workflow": Gem{}} {
		for _, room := range [][2]int{{0, 40}, {40, 0}} { // of max_prompt_tokens, of the context
			r, err := playing(t, scripted{answers: []string{"x"}}, guessing)
			if err != nil {
				t.Fatal(err)
			}
			r.Renderer, r.MaxPrompt, r.Context, r.Truncate = turnwise{}, room[0], room[1], true
			if name == "frozen_lake_workflow" {
				r.Args = map[string]any{"desc": smallLake}
			}
			list, err := w.Run(context.Background(), &r, Task{Repeat: 3, Seed: 5})
			if err != nil || len(list) != 3 {
				t.Errorf("%s: %d experiences, %v; want three", name, len(list), err)
				continue
			}
			for i, e := range list {
				if e.TruncateStatus != experience.PromptTruncated || e.TrainableTokens() != 0 || *e.Reward != 0 ||
					e.EID.Run != i || room[1] > 0 && len(e.Tokens) > room[1] {
					t.Errorf("%s: %v: %d tokens, %q, reward %g", name, e.EID, len(e.Tokens), e.TruncateStatus,
						*e.Reward)
				}
			}
			r.Truncate = false
			if list, err = w.Run(context.Background(), &r,
				Task{Repeat: 3, Seed: 5}); tinker.CategoryOf(err) != tinker.User || list != nil ||
				strings.Count(err.Error(), "tokens") != 1+min(1, room[0]) {
				t.Errorf("%s: %v, %v; want one error", name, list, err)
			}
		}
	}
}

// An episode of an environment whose history outgrows the context ends with the turns that it has.
func TestGemEpisodesEndWithTheContext(t *testing.T) {
	r, err := playing(t, scripted{answers: []string{`I say \boxed{99}`}}, guessing)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := (Gem{}).Run(context.Background(), &r, Task{Repeat: 4, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	r.Context = 0
	for _, e := range whole {
		if e.EID.Step == 0 {
			r.Context = len(e.Tokens) + 10
		}
	}
	if r.Context == 0 {
		t.Fatal("no first turn was drawn")
	}
	list, err := (Gem{}).Run(context.Background(), &r, Task{Repeat: 4, Seed: 5})
	if err != nil || len(list) != 4 {
		t.Fatalf("%d experiences, %v", len(list), err)
	}
	for _, e := range list {
		if e.Metrics["num_turns"] != 1 || e.Metrics[OutOfRoom] != 1 || len(e.Tokens) > r.Context {
			t.Errorf("%d tokens, metrics %v; want one turn, counted", len(e.Tokens), e.Metrics)
		}
	}
}

// An answer without a single token, and a template that changes earlier turns, still make an experience that can be
// trained on.
func TestEmptyAnswerBeforeANewSequence(t *testing.T) {
	c := &conversation{r: &Rollout{Renderer: &shifting{}, Sampler: byPrompt(func(string) string { return "" })}}
	for range 2 {
		if err := c.say(chat.Message{Role: "user", Content: "go"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.answer(context.Background(), 5, 1); err != nil {
			t.Fatal(err)
		}
	}
	e := c.experience(Task{}, 0, 0, false)
	if err := e.Validate(); err != nil || len(e.Starts) != 1 || e.TrainableTokens() != 0 {
		t.Errorf("sequences at %v, %d trained tokens, %v", e.Starts, e.TrainableTokens(), err)
	}
}

// shifting renders a conversation differently each time.
type shifting struct {
	turnwise
	n int
}

func (s *shifting) Prompt(messages []chat.Message) (string, []int32, error) {
	s.n++
	return s.turnwise.Prompt(append([]chat.Message{{Role: "system", Content: strings.Repeat("x", s.n)}}, messages...))
}
