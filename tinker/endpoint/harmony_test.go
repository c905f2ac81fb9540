package endpoint

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// harmonious is a model that answers in channels: gpt-oss's template, and a tokenizer whose marks are special tokens.
func harmonious(t *testing.T, said string) (*shelf, *script) {
	t.Helper()
	template, err := os.ReadFile("../../hf/jinja/testdata/gptoss.jinja")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(tinyModel, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	tokens := file["added_tokens"].([]any)
	for _, mark := range []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>",
		"<|return|>"} {
		tokens = append(tokens, map[string]any{"id": 680 + len(tokens), "content": mark, "special": true})
	}
	file["added_tokens"] = tokens
	if raw, err = json.Marshal(file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := tools(t, said)
	m.Text.Template = templateOf(t, string(template))
	if m.Text.Tokenizer, err = tokenizer.Load(path); err != nil {
		t.Fatal(err)
	}
	m.Text.Ends = m.Text.Tokenizer.Encode("<|return|><|call|>", false)
	if len(m.Text.Ends) != 2 {
		t.Fatal(m.Text.Ends)
	}
	return m, m.Sampler.(*script)
}

// An answer in channels has its thoughts apart, and its calls, whole and as a stream, with tools and without.
func TestHarmony(t *testing.T) {
	const thought = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
	const add = "<|channel|>commentary to=functions.add <|constrain|>json<|message|>"
	one := `{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function",` +
		`"function":{"name":"add","description":"d","parameters":{"type":"object"}}}]`
	two := strings.Replace(one, `"tools":[`,
		`"tools":[{"type":"function","function":{"name":"sub","description":"d"}},`, 1)
	for _, c := range []struct {
		body string
		called
	}{
		{one, called{"text", thought + "<|channel|>final<|message|>Hello", "", "Hello", "", "<|start|>assistant",
			"stop"}},
		{one, called{"a call", thought + "<|channel|>commentary<|message|>I add.<|end|><|start|>assistant" + add +
			`{"a": 1}`, "", "I add.", `add {"a":1} `, "<|start|>assistant", "tool_calls"}},
		{one, called{"required", `{"a": 1}`, `,"tool_choice":"required"`, "", `add {"a":1} `, add, "tool_calls"}},
		{two, called{"one of two", `add<|message|>{"a": 1}`, `,"tool_choice":"required"`, "", `add {"a":1} `,
			"<|channel|>commentary to=functions.", "tool_calls"}},
		{`{"model":"tiny","messages":[{"role":"user","content":"Hi"}]`, called{"no tools", thought +
			"<|channel|>final<|message|>Hello", "", "Hello", "", "<|start|>assistant", "stop"}},
	} {
		m, s := harmonious(t, c.said)
		c.check(t, m, s.asked, c.body+c.more)
		a := ask(t, m, "chat", c.body+c.more+"}").Body.String()
		if strings.Contains(c.said, "Hm.") != strings.Contains(a, `"reasoning_content":"Hm."`) {
			t.Errorf("%s: %s", c.name, a)
		}
	}
	m, _ := harmonious(t, "{}")
	w := ask(t, m, "chat", one+`,"response_format":{"type":"json_object"}}`)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "response_format is not supported for a") {
		t.Errorf("a form: %d %s", w.Code, w.Body)
	}
}
