package endpoint

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// What a model wrote in place of arguments stays in the history of a conversation. Whatever it is, the conversation
// continues, as if the call had none.
func TestArgumentsThatAreNoObject(t *testing.T) {
	m, asked := tools(t, "Hello")
	// a template that goes over the arguments, as those of Qwen3-Coder and GLM do
	withTemplate(t, m, strings.ReplaceAll(conversationTemplate, "{{ c.function.arguments | tojson }}",
		"{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }};{% endfor %}"))
	const chatCall = `{"model":"tiny","messages":[{"role":"user","content":"1+2?"},{"role":"assistant","tool_calls":` +
		`[{"type":"function","function":{"name":"add"%s}}]},{"role":"tool","content":"3"}],"max_tokens":9}`
	prompt := func(name, body string, ask func(body string) (int, string)) []int32 {
		t.Helper()
		code, text := ask(body)
		if code != http.StatusOK {
			t.Fatalf("%s: %s: %d %s", name, body, code, text)
		}
		ids, _ := asked.Prompt.Tokens()
		return ids
	}
	chats := func(body string) (int, string) { w := ask(t, m, "chat", body); return w.Code, w.Body.String() }
	interfaces := []struct {
		name, body string
		ask        func(body string) (int, string)
	}{
		{"chat", chatCall, chats},
		{"responses", `{"model":"tiny","input":[{"role":"user","content":"1+2?"},{"type":"function_call",` +
			`"name":"add"%s},{"type":"function_call_output","output":"3"}]}`, func(body string) (int, string) {
			w := sends(t, m, respond, body)
			return w.Code, w.Body.String()
		}},
		{"messages", `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"1+2?"},` +
			`{"role":"assistant","content":[{"type":"tool_use","name":"add"%s}]},{"role":"user","content":` +
			`[{"type":"tool_result","content":"3"}]}]}`, func(body string) (int, string) {
			w := posts(t, m, messages, strings.Replace(body, `"arguments"`, `"input"`, 1))
			return w.Code, w.Body.String()
		}},
		{"ollama", `{"model":"tiny","stream":false,"messages":[{"role":"user","content":"1+2?"},{"role":"assistant",` +
			`"tool_calls":[{"type":"function","function":{"name":"add"%s}}]},{"role":"tool","content":"3"}]}`,
			func(body string) (int, string) {
				code, list := ollama(t, m, "chat", body)
				return code, fmt.Sprint(list)
			}},
	}
	for _, i := range interfaces {
		none := prompt(i.name, fmt.Sprintf(i.body, `,"arguments":{}`), i.ask)
		for _, given := range []string{``, `,"arguments":null`, `,"arguments":""`, `,"arguments":" "`,
			`,"arguments":"null"`, `,"arguments":[]`, `,"arguments":[1,2]`, `,"arguments":"[1, 2]"`, `,"arguments":7`,
			`,"arguments":"{\"a\": 1, \"b\": \"unfini"`, `,"arguments":"{\"a\": 1} and more"`, `,"arguments":"\"a\""`} {
			if got := prompt(i.name, fmt.Sprintf(i.body, given), i.ask); !slices.Equal(got, none) {
				t.Errorf("%s %s: %s", i.name, given, m.Text.Tokenizer.Decode(got, false))
			}
		}
		for _, given := range []string{`,"arguments":{"a":[1,"x"]}`, `,"arguments":"{\"a\": [1, \"x\"]}"`} {
			got := m.Text.Tokenizer.Decode(prompt(i.name, fmt.Sprintf(i.body, given), i.ask), false)
			if !strings.Contains(got, `adda=[1, "x"];`) {
				t.Errorf("%s %s: %s", i.name, given, got)
			}
		}
	}
}

// Of content only parts of words are read, and never the words beside something else.
func TestContentParts(t *testing.T) {
	m, asked := tools(t, "Hello")
	withTemplate(t, m, conversationTemplate)
	for part, want := range map[string]string{
		`{"type":"text","text":"a"}`:                                    "|a<|",
		`{"text":"a"}`:                                                  "|a<|",
		`{"type":"input_text","text":"a"}`:                              "|a<|",
		`{"type":"output_text","text":"a"}`:                             "|a<|",
		`{"type":"refusal","refusal":"No."}`:                            "|No.<|",
		`{"type":"refusal","text":"No."}`:                               "",
		`{"type":"image_url","text":"a"}`:                               "",
		`{"type":"image_url","text":"a","image_url":{"url":"data:,x"}}`: "",
		`{"type":"input_audio","text":"a"}`:                             "",
		`{"type":["text"],"text":"a"}`:                                  "",
	} {
		for _, body := range []string{`{"model":"tiny","messages":[{"role":"user","content":"1"},{"role":"assistant",` +
			`"content":[` + part + `]},{"role":"user","content":"2"}]}`, `{"model":"tiny","input":[{"role":"user",` +
			`"content":"1"},{"role":"assistant","content":[` + part + `]},{"role":"user","content":"2"}]}`} {
			respondsTo := strings.Contains(body, `"input":`)
			if respondsTo && strings.HasPrefix(part, `{"text"`) { // Responses names the type of each part
				continue
			}
			w := ask(t, m, "chat", body)
			if respondsTo {
				w = sends(t, m, respond, body)
			}
			if want == "" && w.Code != http.StatusBadRequest {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
			if want == "" {
				continue
			}
			if ids, _ := asked.Prompt.Tokens(); w.Code != http.StatusOK ||
				!strings.Contains(m.Text.Tokenizer.Decode(ids, false), want) {
				t.Errorf("%s: %d %s, prompt %s", body, w.Code, w.Body, m.Text.Tokenizer.Decode(ids, false))
			}
		}
	}
}
