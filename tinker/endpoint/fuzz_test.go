package endpoint

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzBody: no body makes a panic, an answer that is not JSON or events, or a fault of the server.
func FuzzBody(f *testing.F) {
	for _, body := range []string{toolBody + "}", toolBody + `,"stream":true,"tool_choice":"required"}`,
		`{"model":"tiny","prompt":"a","n":2,"echo":true,"logprobs":3}`, `{"model":"tiny","prompt":[[1,2],[3]]}`,
		`{"model":"tiny","messages":[{"role":"assistant","content":"<think>"}],"stop":["a"],"seed":-1}`,
		`{"model":"tiny","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"max_tokens":1e9}`} {
		f.Add(true, body)
		f.Add(false, body)
	}
	m, _ := tools(f, `<think>a</think>b<tool_call>{"name":"add","arguments":{}}`, "c")
	f.Fuzz(func(t *testing.T, chat bool, body string) {
		path := "completion"
		if chat {
			path = "chat"
		}
		w := ask(t, m, path, body)
		switch {
		case w.Code >= 500:
			t.Fatalf("%d %s", w.Code, w.Body)
		case w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream"):
			eventsOf(t, w)
		default:
			decodeAnswer(t, w.Body.String())
		}
	})
}

// FuzzEvents: whatever an answer says, the events are JSON on one line each, and together say the same.
func FuzzEvents(f *testing.F) {
	f.Add("a\r\n\r\ndata: [DONE]\n\n", true)
	f.Add("<think>\u2028</think>\x00\xff<tool_call>", false)
	m, _ := tools(f, "")
	f.Fuzz(func(t *testing.T, said string, chat bool) {
		m.Sampler.(*script).said = []string{said}
		path, body := "completion", `{"model":"tiny","prompt":"a"`
		if chat {
			path, body = "chat", toolBody
		}
		w := decodeAnswer(t, ask(t, m, path, body+"}").Body.String()).Choices[0]
		text, thought := "", ""
		for _, e := range eventsOf(t, ask(t, m, path, body+`,"stream":true}`)) {
			for _, c := range e.Choices {
				text, thought = text+c.Text+c.Delta.Content, thought+c.Delta.Reasoning
			}
		}
		if text != w.Text+w.Message.Content || thought != w.Message.Reasoning {
			t.Fatalf("%q: stream %q, whole %q", said, text, w.Text+w.Message.Content)
		}
	})
}
