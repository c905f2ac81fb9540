package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint/internal/param"
)

// ollamaLine is what the tests read of an answer, whole or a line.
type ollamaLine struct {
	Model    string
	Created  time.Time `json:"created_at"`
	Response string
	Thinking string
	Message  *struct {
		Role, Content, Thinking string
		ToolCalls               []struct {
			Function struct {
				Name      string
				Arguments map[string]any
			}
		} `json:"tool_calls"`
	}
	Done   bool
	Reason string `json:"done_reason"`
	Prompt int    `json:"prompt_eval_count"`
	Count  int    `json:"eval_count"`
	Total  int64  `json:"total_duration"`
	Load   int64  `json:"load_duration"`
	First  int64  `json:"prompt_eval_duration"`
	Eval   int64  `json:"eval_duration"`
	Error  string
}

// ollama sends a body to api/chat or api/generate and returns the lines.
func ollama(t testing.TB, m Models, path, body string) (int, []ollamaLine) {
	t.Helper()
	a := New(m, func() time.Time { return time.Unix(1e9, 0) })
	w := httptest.NewRecorder()
	call := a.OllamaChat
	if path == "generate" {
		call = a.OllamaGenerate
	}
	if err := call(t.Context(), w, "me", []byte(body)); err != nil {
		param.ErrorOf(err).WriteOllama(w)
	}
	var list []ollamaLine
	for line := range strings.SplitSeq(strings.TrimSpace(w.Body.String()), "\n") {
		var l ollamaLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		list = append(list, l)
	}
	kind := "application/json"
	if len(list) > 1 {
		kind = "application/x-ndjson"
	}
	if got := w.Header().Get("Content-Type"); got != kind {
		t.Errorf("%s of %d lines has the type %s", path, len(list), got)
	}
	return w.Code, list
}

// said is the text of all lines.
func said(list []ollamaLine) (text, thought string) {
	for _, l := range list {
		text, thought = text+l.Response, thought+l.Thinking
		if l.Message != nil {
			text, thought = text+l.Message.Content, thought+l.Message.Thinking
		}
	}
	return text, thought
}

// Lines, a whole answer and OpenAI's routes say the same for the same prompt, options and seed.
func TestOllamaSaysWhatOpenAISays(t *testing.T) {
	m := newTiny(t)
	const options = `"options":{"seed":7,"num_predict":30,"temperature":1.1,"top_p":0.95,"top_k":60,"min_p":0.001,` +
		`"stop":["7"],"num_gpu":1,"repeat_penalty":1.0,"num_ctx":400}`
	const same = `"seed":7,"max_tokens":30,"temperature":1.1,"top_p":0.95,"top_k":60,"min_p":0.001,"stop":["7"]`
	const messages = `"messages":[{"role":"system","content":"Add."},{"role":"user","content":"What is 3 + 4?"}]`
	for _, c := range []struct{ name, path, body, own, ownBody string }{
		{"chat", "chat", messages, "chat", messages},
		{"generate", "generate", `"prompt":"What is 3 + 4?","system":"Add."`, "chat", messages},
		{"raw", "generate", `"prompt":"What is 3 + 4?","raw":true`, "completion", `"prompt":"What is 3 + 4?"`},
	} {
		want := decodeAnswer(t, ask(t, m, c.own, `{"model":"tiny",`+same+`,`+c.ownBody+`}`).Body.String())
		if want.Error != nil {
			t.Fatalf("%+v", want.Error)
		}
		text := want.Choices[0].Message.Content + want.Choices[0].Text
		for _, more := range []string{``, `,"stream":false`} {
			code, list := ollama(t, m, c.path, `{"model":"tiny",`+c.body+`,`+options+more+`}`)
			last := list[len(list)-1]
			got, _ := said(list)
			if code != http.StatusOK || got != text || !last.Done || last.Reason != want.Choices[0].Finish ||
				last.Prompt != want.Usage.Prompt || last.Count != want.Usage.Completion || last.Model != "tiny" {
				t.Errorf("%s%s: %d %q %+v, want %q %+v", c.name, more, code, got, last, text, want)
			}
			if last.Total <= 0 || last.First <= 0 || last.Eval < 0 || last.Load+last.First+last.Eval > last.Total {
				t.Errorf("%s%s: times %+v", c.name, more, last)
			}
			if single := more != ""; single != (len(list) == 1) {
				t.Errorf("%s%s has %d lines", c.name, more, len(list))
			}
			for _, l := range list[:len(list)-1] {
				if l.Done || l.Reason != "" || l.Created.Unix() != 1e9 {
					t.Errorf("%s%s: a line in the middle is %+v", c.name, more, l)
				}
			}
		}
	}
}

// A window of num_ctx tokens ends the answer, and so does the model's context; an answer without a limit goes on to it.
func TestOllamaWindow(t *testing.T) {
	m := newTiny(t)
	m.Text.Ends = nil // nothing else ends an answer soon
	ask := func(options string) ollamaLine {
		_, list := ollama(t, m, "generate", `{"model":"tiny","prompt":"1 2 3 4 5","raw":true,"stream":false,`+
			`"options":{"seed":1,"temperature":3,`+options+`}}`)
		return list[0]
	}
	first := ask(`"num_predict":1`)
	for _, c := range []struct {
		options string
		tokens  int // at most
	}{
		{`"num_predict":-1,"num_ctx":40`, 40 - first.Prompt},
		{`"num_ctx":40`, 40 - first.Prompt},
		{`"num_predict":5,"num_ctx":40`, 5},
		{`"num_predict":100,"num_ctx":40`, 40 - first.Prompt},
		{`"num_predict":100000,"num_ctx":1000000`, m.Context - first.Prompt},
		{`"num_predict":-2`, m.Context - first.Prompt},
	} {
		got := ask(c.options)
		if got.Error != "" || got.Count > c.tokens || got.Count < c.tokens && got.Reason != "stop" ||
			got.Count == c.tokens && got.Reason != "length" {
			t.Errorf("%s: %+v, want %d tokens", c.options, got, c.tokens)
		}
	}
	if got := ask(`"num_ctx":2`); !strings.Contains(got.Error, "num_ctx is 2 and the prompt has") {
		t.Errorf("a small window: %+v", got)
	}
}

// Calls of tools have their arguments as objects, and thoughts come apart.
func TestOllamaToolsAndThoughts(t *testing.T) {
	m, asked := tools(t, "Hm.\n</think>\n\nI add.\n<tool_call>\n"+
		"{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>")
	m.Text.Config = map[string]any{"chat_template": "enable_thinking"}
	const body = `{"model":"tiny","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"",` +
		`"thinking":"T","tool_calls":[{"function":{"name":"add","arguments":{"a":2}}}]},{"role":"tool","content":"3",` +
		`"tool_name":"add"}],"tools":[{"type":"function","function":{"name":"add","parameters":{}}}],` +
		`"options":{"num_predict":-1}`
	// the template of these tests opens a thought for another variable than think sets
	m.Text.Template = templateOf(t, strings.ReplaceAll(toolTemplate, "thinking", "enable_thinking"))
	for _, more := range []string{`,"think":true`, `,"think":true,"stream":false`} {
		code, list := ollama(t, m, "chat", body+more+"}")
		text, thought := said(list)
		var calls []string
		for _, l := range list {
			for _, c := range l.Message.ToolCalls {
				calls = append(calls, fmt.Sprint(c.Function.Name, c.Function.Arguments))
			}
		}
		last := list[len(list)-1]
		if code != http.StatusOK || strings.TrimSpace(text) != "I add." || strings.TrimSpace(thought) != "Hm." ||
			!slices.Equal(calls, []string{"addmap[a:1]"}) || !last.Done || last.Reason != "stop" {
			t.Errorf("%s: %d %q, thought %q, calls %q, %+v", more, code, text, thought, calls, last)
		}
		if p := m.Text.decodePrompt(asked); !strings.HasSuffix(p, "<think>\n") {
			t.Errorf("%s: the prompt is %q", more, p)
		}
	}
	if _, list := ollama(t, m, "chat", body+`,"think":false,"stream":false}`); list[0].Message == nil ||
		strings.HasSuffix(m.Text.decodePrompt(asked), "<think>\n") {
		t.Errorf("think false: %+v", list)
	}
}

func TestOllamaRefusals(t *testing.T) {
	m := newTiny(t)
	const chatBody = `{"model":"tiny","messages":[{"role":"user","content":"Hi"}],`
	const promptBody = `{"model":"tiny","prompt":"Hi",`
	for _, c := range []struct {
		path, body string
		code       int
		text       string
	}{
		{"chat", `[]`, 400, "not a JSON object"},
		{"chat", `{"model":"absent","messages":[]}`, 404, "not found"},
		{"chat", `{"model":"absent","messages":[{"role":"user","content":"Hi"}]}`, 404, "not found"},
		{"chat", chatBody + `"format":"yaml"}`, 400, `format is "yaml"`},
		{"chat", chatBody + `"format":{"type":"objects"}}`, 400, `format: schema.type is "objects"`},
		{"chat", chatBody + `"think":"high"}`, 400, `think is "high"`},
		{"chat", chatBody + `"think":true}`, 400, "no thoughts"},
		{"chat", chatBody + `"keep_alive":"long"}`, 400, `keep_alive is "long"`},
		{"chat", chatBody + `"options":{"repeat_penalty":-1}}`, 400, "repetition_penalty is -1"},
		{"chat", chatBody + `"options":{"mirostat":2}}`, 400, "mirostat is 2"},
		{"chat", chatBody + `"options":{"warmth":2}}`, 400, "warmth"},
		{"chat", chatBody + `"options":{"num_predict":"x"}}`, 400, "num_predict"},
		{"chat", chatBody + `"options":{"num_ctx":-5}}`, 400, "num_ctx is -5"},
		{"chat", chatBody + `"options":7}`, 400, "options: 7"},
		{"chat", chatBody + `"temperature":1}`, 400, "temperature"},
		{"chat", `{"model":"tiny","messages":[{"role":"user","content":"Hi","images":["aGk="]}]}`, 400, "images"},
		{"generate", promptBody + `"suffix":"x"}`, 400, "suffix"},
		{"generate", promptBody + `"images":["aGk="]}`, 400, "images"},
		{"generate", promptBody + `"context":[1,2]}`, 400, "context"},
		{"generate", promptBody + `"template":"x"}`, 400, "template"},
		{"generate", promptBody + `"raw":true,"system":"x"}`, 400, "system"},
	} {
		code, list := ollama(t, m, c.path, c.body)
		if code != c.code || len(list) != 1 || !strings.Contains(list[0].Error, c.text) {
			t.Errorf("%s %s: %d %+v, want %d %q", c.path, c.body, code, list, c.code, c.text)
		}
	}
	for _, neutral := range []string{`"format":""`, `"keep_alive":"5m"`, `"keep_alive":-1`, `"tools":[]`,
		`"think":false`, `"options":{"num_thread":4,"mirostat":0,"top_k":0}`, `"options":null`, `"truncate":false`} {
		code, list := ollama(t, m, "chat", chatBody+neutral+`,"stream":false}`)
		if code != http.StatusOK || !list[0].Done {
			t.Errorf("%s: %d %+v", neutral, code, list)
		}
	}
	for body, reason := range map[string]string{`{"model":"tiny"}`: "load", `{"model":"tiny","keep_alive":0}`: "unload",
		`{"model":"tiny","keep_alive":"0s","prompt":"","messages":[]}`: "unload"} {
		for _, path := range []string{"chat", "generate"} {
			code, list := ollama(t, m, path, body)
			if code != http.StatusOK || !list[0].Done || list[0].Reason != reason {
				t.Errorf("%s %s: %d %+v, want %s", path, body, code, list, reason)
			}
		}
	}
}

func TestOllamaLists(t *testing.T) {
	m := newTiny(t)
	a := New(m, func() time.Time { return time.Unix(1e9, 0) })
	get := func(call func(context.Context, http.ResponseWriter, string) error) string {
		w := httptest.NewRecorder()
		if err := call(t.Context(), w, "me"); err != nil {
			t.Error(err)
		}
		return w.Body.String()
	}
	if got := get(a.OllamaTags); !strings.Contains(got, `"name":"tiny"`) || !strings.Contains(got, `"digest":"`) ||
		!strings.Contains(got, `"modified_at":"2001-09-09T01:46:40Z"`) {
		t.Errorf("tags: %s", got)
	}
	if got := get(a.OllamaLoaded); got != `{"models":[]}` {
		t.Errorf("ps of a server that does not tell: %s", got)
	}
	show := func(body string) string {
		w := httptest.NewRecorder()
		if err := a.OllamaShow(t.Context(), w, "me", []byte(body)); err != nil {
			param.ErrorOf(err).WriteOllama(w)
		}
		return w.Body.String()
	}
	for _, body := range []string{`{"model":"tiny"}`, `{"name":"tiny","verbose":true}`} {
		got := show(body)
		for _, want := range []string{fmt.Sprintf(`"trinity.context_length":%d`, m.Context),
			`"capabilities":["completion"]`, `im_start`} {
			if !strings.Contains(got, want) {
				t.Errorf("show %s: %s, want %s", body, got, want)
			}
		}
	}
	if got := show(`{"model":"absent"}`); !strings.HasPrefix(got, `{"error":"model \"absent\"`) {
		t.Errorf("an absent model: %s", got)
	}
	if got := show(`{"model":"tiny","template":"x"}`); !strings.Contains(got, "template is") {
		t.Errorf("a template: %s", got)
	}
}

// FuzzOllama: any body has an answer or an error of its own.
func FuzzOllama(f *testing.F) {
	f.Add(`{"model":"tiny","messages":[{"role":"user","content":"Hi"}],"options":{"num_predict":1}}`)
	f.Add(`{"model":"tiny","prompt":"Hi","raw":true,"think":false,"keep_alive":"1m","options":{"num_ctx":3}}`)
	m, _ := tools(f, "Hello")
	a := New(m, func() time.Time { return time.Unix(1e9, 0) })
	f.Fuzz(func(t *testing.T, body string) {
		for _, call := range []func(context.Context, http.ResponseWriter, string, []byte) error{a.OllamaChat,
			a.OllamaGenerate, a.OllamaShow} {
			w := httptest.NewRecorder()
			err := call(t.Context(), w, "me", []byte(body))
			if err != nil && param.ErrorOf(err).Status == http.StatusInternalServerError {
				t.Fatalf("%q: %v", body, err)
			}
		}
	})
}

// templateOf is a chat template with the shipped tokenizer's tokens.
func templateOf(t testing.TB, text string) *chat.Template {
	t.Helper()
	conf, err := tokenizer.LoadConfig(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	template, err := chat.New(text, conf, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// decodePrompt is the text of a request's prompt.
func (t *Text) decodePrompt(r *tinker.SampleRequest) string {
	ids, _ := r.Prompt.Tokens()
	return t.Tokenizer.Decode(ids, false)
}
