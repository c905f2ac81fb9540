package supervised

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
)

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
