package supervised

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Templates show a turn as chatML does; the second opens an answer with a thought, as DeepSeek-R1's does.
const (
	plain = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	thinking = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content.split('</think>')[-1] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% endif %}`
)

// examples are rows of a file with messages, or with a prompt, a chosen and a rejected answer.
func examples(t *testing.T, template string, rows ...string) (s *Examples, warned *[]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := dataset.Open(path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	tok, err := tokenizer.Load("../../hf/tokenizer/testdata/qwen2.json")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := chat.New(template, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	warned = new([]string)
	return &Examples{Rows: src, Tokenizer: tok, Template: tmpl, Format: dataset.Format{MessagesKey: "messages",
		ChosenKey: "chosen", RejectedKey: "rejected"},
		Warn: func(text string) { *warned = append(*warned, text) }}, warned
}

// trained is the text of the tokens that are trained.
func trained(s *Examples, e *experience.Experience) string {
	var ids []int32
	for i, on := range e.ActionMask {
		if on {
			ids = append(ids, e.Tokens[e.PromptLength+i])
		}
	}
	return s.Tokenizer.Decode(ids, false)
}

// Whatever the template opens an answer with, all of the answer is trained, as a last turn and among all turns.
func TestAnswerAfterAnotherOpening(t *testing.T) {
	rows := []string{`{"messages": [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}]}`,
		`{"messages": [{"role": "user", "content": "Four?"}, {"role": "assistant", "content": "It is 4."}]}`}
	for name, template := range map[string]string{"plain": plain, "thinking": thinking} {
		for _, turns := range []bool{false, true} {
			s, warned := examples(t, template, rows...)
			s.Turns = turns
			for i, want := range []string{"2<|im_end|>", "It is 4.<|im_end|>"} {
				list, err := s.Row(dataset.Item{Index: i})
				if err != nil {
					t.Fatalf("%s, all turns %v: %v", name, turns, err)
				}
				if got := strings.TrimSpace(trained(s, list[0])); got != want {
					t.Errorf("%s, all turns %v: %q is trained, want %q", name, turns, got, want)
				}
			}
			if want := name == "thinking" && !turns; len(*warned) > 1 || (len(*warned) == 1) != want {
				t.Errorf("%s, all turns %v: %q was told", name, turns, *warned)
			}
		}
	}
}

// A template that shows the question differently once the answer follows, as Mistral's does with a system prompt,
// would have the question trained: the row is refused. What only ends a conversation may differ.
func TestQuestionIsNotTrained(t *testing.T) {
	const (
		begin = `{% if messages[0].role == 'system' %}{% set system = messages[0].content %}` +
			`{% set turns = messages[1:] %}{% else %}{% set turns = messages %}{% endif %}{% for m in turns %}`
		mistral = begin + `{% if m.role == 'user' %}[INST] {% if loop.last and system is defined %}{{ system }}

{% endif %}{{ m.content }}[/INST]{% else %} {{ m.content }}<|im_end|>{% endif %}{% endfor %}`
		ending = `{% for m in messages %}{{ m.role }}: {{ m.content }}{% if loop.last %}<|endoftext|>
{% endif %}{% endfor %}{% if add_generation_prompt %}assistant: <think>{% endif %}`
		question = `{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}]}`
		system   = `{"messages": [{"role": "system", "content": "Be brief."}, ` + question
	)
	for name, c := range map[string]struct{ template, row, want string }{
		"system prompt":   {mistral, system, ""},
		"no system":       {mistral, `{"messages": [` + question, "2<|im_end|>"},
		"same everywhere": {plain, system, "2<|im_end|>"},
		"ending":          {ending, system, "assistant: 2<|endoftext|>"},
	} {
		s, _ := examples(t, c.template, c.row)
		list, err := s.Row(dataset.Item{})
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "rows.jsonl") ||
				!strings.Contains(err.Error(), "drop the row") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := strings.TrimSpace(trained(s, list[0])); got != c.want {
			t.Errorf("%s: %q is trained, want %q", name, got, c.want)
		}
	}
}

func TestPairAfterAnotherOpening(t *testing.T) {
	const row = `{"messages": [{"role": "user", "content": "Two?"}], "chosen": "2", "rejected": "No."}`
	s, _ := examples(t, thinking, row)
	s.Pairs = true
	list, err := s.Row(dataset.Item{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"2<|im_end|>", "No.<|im_end|>"} {
		if got := strings.TrimSpace(trained(s, list[i])); got != want {
			t.Errorf("%q is trained, want %q", got, want)
		}
	}
}

func TestLastMessageIsTheAssistants(t *testing.T) {
	s, _ := examples(t, plain,
		`{"messages": [{"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Two?"}]}`)
	if _, err := s.Row(dataset.Item{}); err == nil || !strings.Contains(err.Error(), `of role "user"`) {
		t.Errorf("a row that ends in a question: %v", err)
	}
}

// An answer's thoughts and calls are trained as its content is, whether the last answer or every one counts.
func TestCallsAndThoughtsAreTrained(t *testing.T) {
	const template = `{% for m in messages %}{{ m.role }}:{% if m.reasoning_content %}({{ m.reasoning_content }})` +
		`{% endif %}{% if m.content is not none %}{{ m.content }}{% endif %}{% for c in m.tool_calls or [] %}` +
		`call {{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}.{% endfor %}` +
		`{% if add_generation_prompt %}assistant:{% endif %}`
	const call = `{"role":"assistant","content":null,"reasoning_content":"add them","tool_calls":[{"type":"function",` +
		`"function":{"name":"add","arguments":{"x":2,"y":3}}}]}`
	const want = `(add them)call add{"x": 2, "y": 3}.`
	path := filepath.Join(t.TempDir(), "train.jsonl")
	row := `{"messages":[{"role":"user","content":"2+3?"},` + call + `],"good":` + call + `,"bad":"5","q":"2+3?"}`
	if err := os.WriteFile(path, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.Open(path, "", "train")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	s := Examples{Rows: rows, Format: dataset.Format{MessagesKey: "messages"}}
	if s.Tokenizer, err = tokenizer.Load("../../examples/tiny/model"); err != nil {
		t.Fatal(err)
	}
	if s.Template, err = chat.New(template, nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	pair := s
	pair.Pairs, pair.Format = true, dataset.Format{PromptKey: "q", ChosenKey: "good", RejectedKey: "bad"}
	turns := s
	turns.Turns = true
	for name, s := range map[string]Examples{"last": s, "turns": turns, "pair": pair} {
		list, err := s.Row(dataset.Item{})
		if err != nil {
			t.Fatal(err)
		}
		var trained []int32
		for i, id := range list[0].Tokens[list[0].PromptLength:] {
			if list[0].ActionMask[i] {
				trained = append(trained, id)
			}
		}
		if got := s.Tokenizer.Decode(trained, false); got != want {
			t.Errorf("%s: %q is trained, want %q", name, got, want)
		}
	}
}
