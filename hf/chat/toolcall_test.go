package chat

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
)

// spell writes a message the way the tables below do: reasoning ¦ content ¦
// name(arguments) and so on.
func spell(m Message) string {
	out := m.Reasoning + "¦" + m.Content
	for _, c := range m.ToolCalls {
		f := member[*jinja.Map](c.(*jinja.Map), "function")
		args := &jinja.Map{}
		args.Set("a", member[*jinja.Map](f, "arguments"))
		t, err := jinja.Parse("{{ a|tojson }}")
		if err != nil {
			return err.Error()
		}
		res, err := t.Render(args, jinja.Options{})
		if err != nil {
			return err.Error()
		}
		out += "¦" + member[string](f, "name") + res.Text
	}
	return out
}

func TestParseAnswer(t *testing.T) {
	for _, c := range []struct {
		style      CallStyle
		text, want string
		fault      string
	}{
		{NoCalls, "Hi", "¦Hi", ""},
		{NoCalls, `<tool_call>{"name":"f"}</tool_call>`, `¦<tool_call>{"name":"f"}</tool_call>`, ""},
		{NoCalls, "<think>\nhm\n</think>\n\nfour", "hm¦four", ""},
		{NoCalls, "hm\n</think>\n\nfour", "hm¦four", ""},
		{NoCalls, " <think>hm", "hm¦", ""},
		{NoCalls, "<think>\n\n</think>\n\nfour", "¦four", ""},
		{NoCalls, "a <think> b", "¦a <think> b", ""},
		{NoCalls, "<think>a</think>b</think>c", "a¦b</think>c", ""},

		{QwenCalls, "Hi", "¦Hi", ""},
		{QwenCalls, "\n Hi\n", "¦\n Hi\n", ""},
		{QwenCalls, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"z\": 1, \"a\": [true, null, 1.0]}}\n</tool_call>",
			`¦¦f{"z": 1, "a": [true, null, 1.0]}`, ""},
		{QwenCalls, "Let me.\n<tool_call>\n{\"name\": \"f\", \"arguments\": " +
			"{}}\n</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call>\nDone.", `¦Let me.` + "\nDone." + `¦f{}¦g{}`,
			""},
		{QwenCalls, "<think>\nI <tool_call>{}</tool_call>\n</think>\n\n<tool_call>{\"name\":\"f\"}</tool_call>",
			"I <tool_call>{}</tool_call>¦¦f{}", ""},
		{QwenCalls, `<tool_call>{"name":"f","arguments":{"s":"</tool_call>"}}</tool_call>`, `¦¦f{"s": "</tool_call>"}`,
			""},
		{QwenCalls, `<tool_call>{"name":"f","arguments":{}}`, `¦¦f{}`, ""},
		{QwenCalls, `<tool_call>{"name":"f","arguments":"{\"a\": 1}"}</tool_call>`, `¦¦f{"a": 1}`, ""},
		{QwenCalls, `<tool_call>{"name":"f","parameters":{"a":1}}</tool_call>`, `¦¦f{"a": 1}`, ""},
		{QwenCalls, `<tool_call>{"type":"function","function":{"name":"f","arguments":{"a":1}}}</tool_call>`,
			`¦¦f{"a": 1}`, ""},
		{QwenCalls, `<tool_call>{"name":"f"</tool_call> <tool_call>{"name":"g"}</tool_call>`,
			`¦<tool_call>{"name":"f"</tool_call>` + "\n " + `¦g{}`, "no JSON"},
		{QwenCalls, `a<tool_call>{"name":"f"`, "¦a\n" + `<tool_call>{"name":"f"`, "no JSON"},
		{QwenCalls, `<tool_call>{"nam":"f"}</tool_call>`, `¦<tool_call>{"nam":"f"}</tool_call>`,
			"the JSON has no name"},
		{QwenCalls, `<tool_call>{"name":"f","arguments":[1]}</tool_call>`,
			`¦<tool_call>{"name":"f","arguments":[1]}</tool_call>`, "its arguments are no object"},
		{QwenCalls, `<tool_call>[1]</tool_call>`, `¦<tool_call>[1]</tool_call>`, "the JSON is not an object"},
		{QwenCalls, `<tool_call>{"name":"f"} x</tool_call>`, `¦<tool_call>{"name":"f"} x</tool_call>`,
			"there is text between"},

		{LlamaCalls, "Hi", "¦Hi", ""},
		{LlamaCalls, `{"name": "f", "parameters": {"z": "1", "a": 2}}`, `¦¦f{"z": "1", "a": 2}`, ""},
		{LlamaCalls, ` {"name": "f", "arguments": {}}<|eom_id|>`, `¦¦f{}`, ""},
		{LlamaCalls, `{"name": "f"}; {"name": "g", "parameters": {}}` + "\n" + `{"name":"h"}`, `¦¦f{}¦g{}¦h{}`, ""},
		{LlamaCalls, "See:\n<|python_tag|>{\"name\": \"f\", \"parameters\": {}}<|eot_id|>", "¦See:¦f{}", ""},
		{LlamaCalls, `<|python_tag|>brave_search.call(query="a, \"b\"", n=3)`,
			`¦¦brave_search{"query": "a, \"b\"", "n": 3}`, ""},
		{LlamaCalls, `<|python_tag|>f.call()`, `¦¦f{}`, ""},
		{LlamaCalls, `{"answer": 42}`, `¦{"answer": 42}`, ""},
		{LlamaCalls, `{"name": "f", "parameters": {}} and more`, `¦{"name": "f", "parameters": {}} and more`, ""},
		{LlamaCalls, `{"name": "f"`, `¦{"name": "f"`, ""},
		{LlamaCalls, `<|python_tag|>print(1)`, `¦<|python_tag|>print(1)`, "neither JSON nor name.call"},
		{LlamaCalls, `<|python_tag|>{"name": 1}`, `¦<|python_tag|>{"name": 1}`, "the JSON has no name"},
		{LlamaCalls, `<|python_tag|>f.call(a=b)`, `¦<|python_tag|>f.call(a=b)`, "are not key="},
		{LlamaCalls, `<|python_tag|>f.call(a=1) g`, `¦<|python_tag|>f.call(a=1) g`, "something follows"},
	} {
		m, err := ParseAnswer(c.text, c.style)
		if got := spell(m); got != c.want {
			t.Errorf("ParseAnswer(%q)\n got %q\nwant %q", c.text, got, c.want)
		}
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("ParseAnswer(%q): error %v, want %q", c.text, err, c.fault)
		}
	}
}

func TestCallStyle(t *testing.T) {
	for model, want := range map[string]CallStyle{"qwen25": QwenCalls, "qwen3": QwenCalls, "llama31": LlamaCalls,
		"llama32": LlamaCalls, "gemma3": NoCalls, "generation": NoCalls} {
		tmpl, _ := parts(t, model, "qwen2", nil)
		if got := tmpl.CallStyle(); got != want {
			t.Errorf("%s: CallStyle = %d, want %d", model, got, want)
		}
	}
}

// TestAnswerReturns renders a conversation whose last message was parsed: the
// template writes again what was read.
func TestAnswerReturns(t *testing.T) {
	for model, answer := range map[string]string{
		"qwen25": "I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"z\": \"é <b>\", \"a\": [1, " +
			"2.0]}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>",
		"qwen3": "<think>\nhm\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"z\": 1, " +
			"\"a\": null}}\n</tool_call>",
		"llama31": `{"name": "f", "parameters": {"z": "é", "a": {"k": []}}}`,
	} {
		tmpl, _ := parts(t, model, "qwen2", nil)
		m, err := ParseAnswer(answer, tmpl.CallStyle())
		if err != nil || len(m.ToolCalls) == 0 {
			t.Fatalf("%s: %+v, %v", model, m, err)
		}
		text, err := tmpl.Render([]Message{{Role: "user", Content: "Hi"}, m}, Options{})
		if err != nil || !strings.Contains(text, answer) {
			t.Errorf("%s: %q comes back as %q, %v", model, answer, text, err)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{"<think>a</think>b",
		`a<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>b<tool_call>{`, `<|python_tag|>f.call(a="b", c=1)`,
		`{"name":"f","parameters":{}};{"name":"g"}`,
		function("s", "a") + function("i", "1") + "<tool_call>\n<function=f>",
		pair("o", "{}") + "<tool_call>g</tool_call> " + pair("s", "</arg_value>"), "<tool_call>f<arg_key>"} {
		f.Add(s)
	}
	tools := toolList(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, style := range []CallStyle{NoCalls, QwenCalls, LlamaCalls, FunctionCalls, PairCalls} {
			m, err := ParseAnswer(s, style, tools...)
			if style == NoCalls && (m.ToolCalls != nil || err != nil) {
				t.Errorf("%q: calls without a style: %v, %v", s, m.ToolCalls, err)
			}
			// newlines may part what stays of it
			if len(m.Content)+len(m.Reasoning) > len(s)+2*strings.Count(s, callOpen) {
				t.Errorf("%q grows to %q and %q", s, m.Reasoning, m.Content)
			}
			if err != nil && style.Tagged() && !strings.Contains(m.Content, callOpen) {
				t.Errorf("%q: a bad call is lost: %q, %v", s, m.Content, err)
			}
		}
	})
}

// A template tool_use that cannot be read fails the conversations with tools, and
// no others.
func TestBrokenToolUse(t *testing.T) {
	const plain = "{% for m in messages %}{{ m.content }}{% endfor %}"
	conf := &tokenizer.Config{ChatTemplate: plain, Templates: map[string]string{"tool_use": "{% if %}"}}
	tmpl, err := New(plain, conf, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	user := []Message{{Role: "user", Content: "Hi"}}
	if got, err := tmpl.Render(user, Options{}); err != nil || got != "Hi" {
		t.Errorf("without tools: %q, %v", got, err)
	}
	_, err = tmpl.Render(user, Options{Tools: jinja.List{"add"}})
	if err == nil || !strings.Contains(err.Error(), "template tool_use cannot be read") {
		t.Errorf("with tools: %v", err)
	}
}
