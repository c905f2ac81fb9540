package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func TestMessageRefusals(t *testing.T) {
	m, _ := tools(t, "Hello")
	const hi = `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
	user := func(content string) string {
		return `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":` + content + `}]}`
	}
	for _, c := range []struct {
		body   string
		status int
		kind   string
		text   string
	}{
		{`[]`, 400, "invalid_request_error", "not a JSON object"},
		{`{"max_tokens":1,"messages":[]}`, 400, "invalid_request_error", "model is missing"},
		{`{"model":"other","max_tokens":1,"messages":[]}`, 404, "not_found_error", "not found"},
		{`{"model":"tiny","messages":[{"role":"user","content":"Hi"}]}`, 400, "", "max_tokens is missing"},
		{`{"model":"tiny","max_tokens":0,"messages":[{"role":"user","content":"Hi"}]}`, 400, "", "max_tokens is 0"},
		{`{"model":"tiny","max_tokens":-3,"messages":[{"role":"user","content":"Hi"}]}`, 400, "", "max_tokens is -3"},
		{`{"model":"tiny","max_tokens":5}`, 400, "", "messages must be a list"},
		{`{"model":"tiny","max_tokens":5,"messages":[]}`, 400, "", "messages must be a list"},
		{`{"model":"tiny","max_tokens":5,"messages":"Hi"}`, 400, "", "messages must be a list"},
		{`{"model":"tiny","max_tokens":5,"messages":[{"role":"tool","content":"Hi"}]}`, 400, "",
			`messages[0]: role is "tool"`},
		{`{"model":"tiny","max_tokens":5,"messages":[{"role":"user"}]}`, 400, "", "messages[0]: content is missing"},
		{`{"model":"tiny","max_tokens":5,"messages":[{"role":"user","content":"Hi","name":"x"}]}`, 400, "", "name"},
		{user("5"), 400, "", "messages[0]: 5 must be a text or a list"},
		{user(`[{"type":"image","source":{}}]`), 400, "", `messages[0]: content[0]: a block of type "image"`},
		{user(`[{"type":"tool_use","id":"a","name":"b","input":{}}]`), 400, "",
			`"tool_use" cannot be read in a message of role user`},
		{user(`[{"type":"text"}]`), 400, "", "text is missing"},
		{user(`[{"type":"text","text":"a","citations":[1]}]`), 400, "", "citations"},
		{user(`[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]`), 400, "",
			`content: [0]: a block of type "image"`},
		{user(`[{"type":"tool_result","tool_use_id":"a","kontent":"b"}]`), 400, "", "kontent"},
		{hi + `,"system":[{"type":"image"}]}`, 400, "", `system: [0]: a block of type "image"`},
		{hi + `,"temprature":1}`, 400, "", "Unrecognized request argument supplied: temprature"},
		{hi + `,"stop":["x"]}`, 400, "", "Unrecognized request argument supplied: stop"},
		{hi + `,"n":2}`, 400, "", "Unrecognized request argument supplied: n"},
		{hi + `,"temperature":"hot"}`, 400, "", `temperature is "hot", which is not a number`},
		{hi + `,"stop_sequences":"x"}`, 400, "", "a list of texts"},
		{hi + `,"stop_sequences":[""]}`, 400, "", "stop_sequences[0] is empty"},
		{hi + `,"container":"c"}`, 400, "", "container"},
		{hi + `,"service_tier":"priority"}`, 400, "", "service_tier"},
		{hi + `,"output_config":{"format":{"type":"json_schema"}}}`, 400, "", "output_config"},
		{hi + `,"thinking":{"type":"between_tools"}}`, 400, "", "must be enabled, disabled or adaptive"},
		{hi + `,"thinking":{"type":"disabled","budget_tokens":5}}`, 400, "", "thinking.budget_tokens is 5"},
		{hi + `,"thinking":{"type":"enabled","budget_tokens":5,"display":"hidden"}}`, 400, "", "thinking.display"},
		{hi + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, 400, "",
			"tools[0] (web_search_20250305) is left out: no tool"},
		{hi + `,"tools":[{"name":"f"}]}`, 400, "", "tools[0]: input_schema is missing"},
		{hi + `,"tools":[{"input_schema":{}}]}`, 400, "", "tools[0]: name is missing"},
		{hi + `,"output_config":{"effort":5}}`, 400, "", "output_config: effort is 5"},
		{hi + `,"output_config":{"format":{"type":"json_schema","schema":{"not":{}}}}}`, 400, "",
			"output_config.format: schema.not is not supported"},
		{hi + `,"tool_choice":{"type":"any"}}`, 400, "", "there are no tools"},
		{hi + `,"tool_choice":{"type":"tool"}}`, 400, "", "tool_choice"},
		{hi + `,"tool_choice":{"type":"tool","name":"f"},"tools":[{"name":"g","input_schema":{}}]}`, 400, "",
			"none of the tools"},
		{strings.Replace(hi, `"max_tokens":9`, `"max_tokens":4096`, 1) + `}`, 400, "",
			"input length and `max_tokens` exceed context limit: "},
		{user(`"` + strings.Repeat("many words ", 4096) + `"`), 400, "", "prompt is too long: "},
	} {
		w := posts(t, m, messages, c.body)
		e := decodeMessage(t, w.Body.String())
		if c.kind == "" {
			c.kind = "invalid_request_error"
		}
		if e.Type != "error" || e.Error == nil || w.Code != c.status || e.Error.Type != c.kind ||
			!strings.Contains(e.Error.Message, c.text) {
			t.Errorf("%.120s: %d %s, want %d %s %q", c.body, w.Code, w.Body, c.status, c.kind, c.text)
		}
	}
	for _, neutral := range []string{`"metadata":{"user_id":"a"}`, `"cache_control":{"type":"ephemeral"}`,
		`"top_k":null`,
		`"service_tier":"auto"`, `"output_config":{"effort":"medium"}`, `"tools":[]`, `"stop_sequences":[]`,
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`,
		`"thinking":{"type":"adaptive","display":"summarized"}`} {
		if w := posts(t, m, messages, hi+","+neutral+"}"); w.Code != http.StatusOK {
			t.Errorf("%s: %s", neutral, w.Body)
		}
	}
}

// failing is a sampler that fails, at once or after the first token of a stream.
type failing struct {
	err  error
	late bool
}

func (f *failing) Sample(context.Context, tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if f.late {
		return tinker.Resolved(tinker.SampleResponse{}, f.err), nil
	}
	return nil, f.err
}

// Errors have Anthropic's types, before an answer and within a stream.
func TestMessageErrors(t *testing.T) {
	m, _ := tools(t, "")
	for _, c := range []struct {
		err    error
		status int
		kind   string
		after  string
	}{
		{fmt.Errorf("queue full: %w", tinker.ErrBusy), 429, "rate_limit_error", "1"},
		{tinker.ErrClosed, 529, "overloaded_error", "1"},
		{tinker.ErrNotFound, 404, "not_found_error", ""},
		{tinker.Userf("temperature is bad"), 400, "invalid_request_error", ""},
		{context.DeadlineExceeded, 504, "timeout_error", ""},
		{errors.New("the disk is on fire"), 500, "api_error", ""},
	} {
		const body = `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
		m.Sampler = &failing{err: c.err}
		w := posts(t, m, messages, body+"}")
		e := decodeMessage(t, w.Body.String())
		if w.Code != c.status || e.Error == nil || e.Error.Type != c.kind || w.Header().Get("Retry-After") != c.after {
			t.Errorf("%v: %d %v %s, want %d %s", c.err, w.Code, w.Header(), w.Body, c.status, c.kind)
		}
		m.Sampler = &failing{err: c.err, late: true}
		if s := message(t, m, body+`,"stream":true}`); s.Error == nil || s.Error.Type != c.kind {
			t.Errorf("%v in a stream: %+v, want %s", c.err, s.Error, c.kind)
		}
	}
	m.Sampler = &failing{late: true} // an answer without sequences
	s := message(t, m, `{"model":"tiny","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"stream":true}`)
	if s.Error == nil || s.Error.Type != "api_error" {
		t.Errorf("a stream without tokens: %+v", s)
	}
}

// A prompt whose beginning another request had is reported as read from the cache, in both interfaces and in streams.
// Prompts share what is computed with those that have the same cache_salt.
func TestCacheSalt(t *testing.T) {
	m := newTiny(t)
	long := strings.Repeat("Ann has 12 apples and gets 30 more. ", 12)
	said := `"messages":[{"role":"user","content":"` + long + `"}],"max_tokens":2`
	for i, salt := range []string{"", `,"cache_salt":"a"`, `,"cache_salt":"b"`, `,"cache_salt":"a"`} {
		got := message(t, m, `{"model":"tiny",`+said+salt+"}").Usage["cache_read_input_tokens"]
		if again := i == 3; (got > 0) != again {
			t.Errorf("request %d (%s) has %d cached tokens", i, salt, got)
		}
	}
	for _, salt := range []string{`""`, `7`, `"` + strings.Repeat("a", maxSalt+1) + `"`} {
		w := ask(t, m, "chat", `{"model":"tiny","cache_salt":`+salt+","+said+"}")
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"param":"cache_salt"`) {
			t.Errorf("cache_salt %.20s: %d %s", salt, w.Code, w.Body)
		}
	}
}

func TestCachedTokens(t *testing.T) {
	m := newTiny(t)
	long := strings.Repeat("Ann has 12 apples and gets 30 more. ", 12)
	for i, stream := range []string{"", `,"stream":true`} {
		turns := fmt.Sprintf(`"messages":[{"role":"user","content":"%d %s"}],"max_tokens":2`, i, long)
		first := message(t, m, `{"model":"tiny",`+turns+stream+"}")
		again := message(t, m, `{"model":"tiny",`+turns+stream+"}")
		all := first.Usage["input_tokens"] + first.Usage["cache_read_input_tokens"]
		cached := again.Usage["cache_read_input_tokens"]
		if cached < 16 || again.Usage["input_tokens"] != all-cached ||
			first.Usage["cache_read_input_tokens"] >= cached {
			t.Errorf("messages%s: usage %v, again %v", stream, first.Usage, again.Usage)
		}
		w := ask(t, m, "chat", `{"model":"tiny","stream_options":{"include_usage":true},`+turns+stream+"}")
		if want := fmt.Sprintf(`"cached_tokens":%d}`, cached); !strings.Contains(w.Body.String(), want) {
			t.Errorf("chats%s: %s, want %s", stream, w.Body, want)
		}
	}
}
