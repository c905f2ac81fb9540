package env_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// script is an environment that says what it is told to: observation k is o1, o2 …, the episode has as many steps as it
// has turns.
type script struct {
	turns, at int
	prefix    string
	tool      int // the step whose observation a tool wrote, of whose action only the first word counts; 0 for none
	seed      uint64
}

func (s *script) Reset(seed uint64) (env.Observation, error) {
	s.at, s.seed = 0, seed
	return env.Observation{Text: "task", Prefix: s.prefix, Suffix: "board0"}, nil
}

func (s *script) Step(action string) (env.Transition, error) {
	if s.at++; s.at > s.turns {
		return env.Transition{}, env.ErrOver
	}
	t := env.Transition{Reward: float64(s.at), Terminated: s.at == s.turns}
	t.Observation = env.Observation{Text: fmt.Sprintf("o%d\n", s.at), Prefix: s.prefix,
		Suffix: fmt.Sprintf("board%d", s.at)}
	if s.at == s.tool {
		t.Tool, t.Action = true, strings.Fields(action)[0]
	}
	return t, nil
}

func (s *script) Fork() env.Env { c := *s; return &c }

func (s *script) SampleAction(env.Draws) string { return "a" }

// tags is a chat template: <role>content</role>, and <assistant> to begin an answer.
type tags struct{}

func (tags) Render(messages []chat.Message, o chat.Options) (string, error) {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<%s>%s</%s>", m.Role, m.Content, m.Role)
	}
	if o.AddGenerationPrompt {
		b.WriteString("<assistant>")
	}
	return b.String(), nil
}

func TestHistoryModes(t *testing.T) {
	limit := func(n int) env.HistoryOptions { return env.HistoryOptions{Mode: env.Dialogue, Bounded: true, Limit: n} }
	tests := []struct {
		name string
		o    env.HistoryOptions
		want [3]string // after Reset, "a 1" and "a 2"
	}{
		{"concat", env.HistoryOptions{},
			[3]string{"task\nboard0", "task\no1\nboard1", "task\no1\no2\nboard2"}},
		{"concat_with_action", env.HistoryOptions{Mode: env.Dialogue},
			[3]string{"task\nboard0", "task\na 1\no1\nboard1", "task\na 1\no1\na 2\no2\nboard2"}},
		{"concat_chat", env.HistoryOptions{Mode: env.Chat, Renderer: tags{}}, [3]string{
			"<user>task\nboard0</user><assistant>",
			"<user>task</user><assistant>a 1</assistant><user>o1\nboard1</user><assistant>",
			"<user>task</user><assistant>a 1</assistant><user>o1\n</user><assistant>a " +
				"2</assistant><user>o2\nboard2</user><assistant>"}},
		{"concat_chat_on_reset", env.HistoryOptions{Mode: env.ChatOnReset, Renderer: tags{}}, [3]string{
			"<user>task\nboard0</user><assistant>",
			"<user>task</user><assistant>\na 1\no1\nboard1",
			"<user>task</user><assistant>\na 1\no1\na 2\no2\nboard2"}},
		{"the last action", limit(1),
			[3]string{"task\nboard0", "task\na 1\no1\nboard1", "o1\na 2\no2\nboard2"}},
		{"no history", limit(0),
			[3]string{"task\nboard0", "o1\nboard1", "o2\nboard2"}},
		{"a bounded chat", env.HistoryOptions{Mode: env.ChatOnReset, Renderer: tags{}, Bounded: true, Limit: 1},
			[3]string{
				"<user>task\nboard0</user><assistant>",
				"<user>task</user><assistant>\na 1\no1\nboard1",
				"o1\na 2\no2\nboard2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := env.NewHistory(&script{turns: 3}, tt.o)
			if got := texts(t, e, "a 1", "a 2"); got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestHistoryPrefixToolsAndForks(t *testing.T) {
	e := env.NewHistory(&script{turns: 3, prefix: "P:", tool: 1}, env.HistoryOptions{Mode: env.Chat, Renderer: tags{}})
	got := texts(t, e, "call it", "a 2")
	want := [3]string{
		"<user>P:task\nboard0</user><assistant>",
		"<user>P:task</user><assistant>call</assistant><tool>o1\nboard1</tool><assistant>",
		"<user>P:task</user><assistant>call</assistant><tool>o1\n</tool><assistant>a " +
			"2</assistant><user>o2\nboard2</user><assistant>"}
	if got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	fork := e.Fork()
	a, b := step(t, e, "x"), step(t, fork, "y")
	if strings.ReplaceAll(a.Text, "x", "y") != b.Text || a.Text == b.Text {
		t.Errorf("a fork tells another history:\n%s\n%s", a.Text, b.Text)
	}
	if a.Prefix != "" || a.Suffix != "" {
		t.Error("prefix and suffix are in the text and beside it")
	}
}

// texts plays two actions and returns what was shown.
func texts(t *testing.T, e env.Env, a, b string) [3]string {
	t.Helper()
	o, err := e.Reset(1)
	if err != nil {
		t.Fatal(err)
	}
	return [3]string{o.Text, step(t, e, a).Text, step(t, e, b).Text}
}

func step(t *testing.T, e env.Env, action string) env.Transition {
	t.Helper()
	tr, err := e.Step(action)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestTracker(t *testing.T) {
	e := env.NewTracker(&script{turns: 2})
	texts(t, e, "a", "b")
	if e.Steps() != 2 || e.Return() != 3 {
		t.Errorf("%d steps and a return of %v, want 2 and 3", e.Steps(), e.Return())
	}
	o, err := e.Reset(2)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(o.Metrics), "map[prev_ep_cumulative_rewards:3 prev_ep_step_counter:2]"; got != want {
		t.Errorf("Reset tells %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(step(t, e, "a").Metrics), "map[cumulative_rewards:1 step_counter:1]"; got != want {
		t.Errorf("Step tells %s, want %s", got, want)
	}
}

func TestWrapperNames(t *testing.T) {
	list, err := env.Wrappers("concat_with_action, episode_tracking", nil)
	if err != nil {
		t.Fatal(err)
	}
	e := env.Wrap(&script{turns: 3}, list...)
	if _, ok := e.(*env.Tracker); !ok {
		t.Errorf("the last name is the outermost wrapper; got %T", e)
	}
	if list, err := env.Wrappers("", nil); err != nil || len(list) > 0 {
		t.Errorf("no names give %v, %v", list, err)
	}
	for names, want := range map[string]string{
		"concat_with_actoin": `there is no wrapper "concat_with_actoin"; the nearest is "concat_with_action"`,
		"concat,":            `there is no wrapper ""`,
		"concat_chat":        "needs a chat template",
	} {
		if _, err := env.Wrappers(names, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q in it", names, err, want)
		}
	}
}
