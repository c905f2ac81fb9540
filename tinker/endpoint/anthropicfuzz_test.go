package endpoint

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// FuzzMessages: no body makes a panic, an answer that is no message, or a fault of the server. What counts as a prompt
// of n tokens is one.
func FuzzMessages(f *testing.F) {
	const hi = `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
	for _, body := range []string{hi + "}",
		hi + `,"stream":true,` + twoTools + `,"tool_choice":{"type":"any"}}`,
		hi + `,"thinking":{"type":"enabled","budget_tokens":9},"stop_sequences":["a"],` +
			`"system":[{"type":"text","text":"s"}]}`,
		`{"model":"tiny","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a",` +
			`"name":"b","input":{"c":[1]}},{"type":"thinking","thinking":"d"}]},{"role":"user","content":[` +
			`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"e"}]}]}]}`,
		`{"model":"tiny","max_tokens":1e9,"messages":[null,{"role":"system","content":[]}],"tools":[null],` +
			`"thinking":null}`,
	} {
		f.Add(body)
	}
	m, _ := tools(f, `<think>a</think>b<tool_call>{"name":"add","arguments":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := posts(t, m, messages, body)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var got messageBody
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			got = gather(t, w.Body.String())
		} else {
			got = decodeMessage(t, w.Body.String())
		}
		if got.Type != map[bool]string{true: "message", false: "error"}[w.Code == http.StatusOK] {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if w.Code != http.StatusOK {
			return
		}
		var asked map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &asked); err != nil {
			t.Fatalf("%q was answered: %v", body, err)
		}
		for _, name := range []string{"max_tokens", "stop_sequences", "metadata", "service_tier"} {
			delete(asked, name)
		}
		for _, name := range sharedParameters {
			delete(asked, name)
		}
		count := posts(t, m, countTokens, string(param.Encoded(asked)))
		var n struct {
			Tokens int `json:"input_tokens"`
		}
		if err := json.Unmarshal(count.Body.Bytes(), &n); err != nil || n.Tokens != got.Usage["input_tokens"] {
			t.Fatalf("counted %d %s, usage %v", count.Code, count.Body, got.Usage)
		}
	})
}

// FuzzTokenize: no body makes a panic or a fault, and detokenize gives back what tokenize read.
func FuzzTokenize(f *testing.F) {
	for _, body := range []string{`{"prompt":"What is 3 + 4?"}`,
		`{"prompt":"ä\u0000€<|im_end|>","add_special_tokens":false}`,
		`{"messages":[{"role":"user","content":"Hi"}],"return_token_strs":true}`, `{"tokens":[1,2,3]}`,
		`{"prompt":"ä\u2000"}`, toolBody + "}",
		`{"messages":[{"role":"user","content":"Hi"}],"add_special_tokens":true,"add_generation_prompt":false}`} {
		f.Add(body)
	}
	m, _ := tools(f, "")
	f.Fuzz(func(t *testing.T, body string) {
		w := sends(t, m, tokenize, body)
		back := sends(t, m, detokenize, body)
		if w.Code >= 500 || back.Code >= 500 || !json.Valid(w.Body.Bytes()) || !json.Valid(back.Body.Bytes()) {
			t.Fatalf("%d %s, %d %s", w.Code, w.Body, back.Code, back.Body)
		}
		if w.Code != http.StatusOK {
			return
		}
		var got struct {
			Count  int
			Tokens []int32
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Count != len(got.Tokens) {
			t.Fatalf("%v: %s", err, w.Body)
		}
		text := textOf(t, m, got.Tokens) // the tokenizer brings characters into one form
		again := sends(t, m, tokenize, string(param.Encoded(param.Object{"prompt": text})))
		if err := json.Unmarshal(again.Body.Bytes(), &got); err != nil || textOf(t, m, got.Tokens) != text {
			t.Fatalf("%q comes back as %q (%v)", text, textOf(t, m, got.Tokens), err)
		}
	})
}

// textOf asks for the text of tokens.
func textOf(t testing.TB, m Models, tokens []int32) string {
	t.Helper()
	w := sends(t, m, detokenize, string(param.Encoded(param.Object{"tokens": tokens})))
	var text struct{ Prompt *string }
	if err := json.Unmarshal(w.Body.Bytes(), &text); err != nil || text.Prompt == nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return *text.Prompt
}

// FuzzGenerate: no body makes a panic, an answer that is no generation, or a fault of the server.
func FuzzGenerate(f *testing.F) {
	for _, body := range []string{`{"model":"tiny","token_ids":[5,6],"sampling_params":{"n":2,"logprobs":1}}`,
		`{"model":"tiny","token_ids":[5],"stream":true,"sampling_params":{"stop":["a"],"stop_token_ids":[7],` +
			`"seed":-1}}`,
		`{"model":"tiny","token_ids":[5,6],"request_id":"r","sampling_params":{"prompt_logprobs":0,"max_tokens":null}}`,
		`{"model":"tiny","token_ids":[1e9],"sampling_params":{"top_p":2,"min_p":-1}}`} {
		f.Add(body)
	}
	m, _ := tools(f, "abc", "d")
	f.Fuzz(func(t *testing.T, body string) {
		w := sends(t, m, generate, body)
		if w.Code >= 500 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		got := generation(t, m, body)
		if (w.Code == http.StatusOK) != (got.Error == nil && len(got.Choices) > 0) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		for _, c := range got.Choices {
			if c.Finish != "stop" && c.Finish != "length" || len(c.TokenIDs) == 0 ||
				c.Logprobs != nil && len(c.Logprobs.Content) != len(c.TokenIDs) {
				t.Fatalf("%+v", c)
			}
		}
	})
}
