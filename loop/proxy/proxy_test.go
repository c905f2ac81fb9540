package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// lines is a template that renders messages as role:content lines and begins the model's turn.
const lines = "{%- for m in messages %}{%- if m.role == 'nobody' %}{{ raise_exception('who is nobody?') }}{% endif %}" +
	"{{ m.role + ':' + (m.content or '') + '\n' }}{%- endfor %}" +
	"{%- if tools %}{{ tools | length }} tools<tool_call>{% endif %}" +
	"{%- if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"

const tinyModel = "../../examples/tiny/model"

// linewise is the shipped tokenizer, whose ids of single characters are their bytes, with that template.
func linewise(t testing.TB) *endpoint.Text { return templated(t, lines) }

func templated(t testing.TB, words string) *endpoint.Text {
	t.Helper()
	tok, err := tokenizer.Load(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	conf, err := tokenizer.LoadConfig(tinyModel)
	if err != nil {
		t.Fatal(err)
	}
	template, err := chat.New(words, conf, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := template.StopIDs(tok)
	if err != nil {
		t.Fatal(err)
	}
	return &endpoint.Text{Tokenizer: tok, Template: template, Ends: ends, Plain: true}
}

// scripted answers every sample with one text.
type scripted struct {
	text  string
	err   error
	asked *tinker.SampleRequest
}

func (s *scripted) Sample(_ context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	s.asked = &req
	if s.err != nil {
		return nil, s.err
	}
	var res tinker.SampleResponse
	for range req.NumSamples {
		q := tinker.SampledSequence{StopReason: tinker.StopStop}
		for _, c := range []byte(s.text) {
			q.Tokens, q.Logprobs = append(q.Tokens, int32(c)), append(q.Logprobs, -0.25)
		}
		res.Sequences = append(res.Sequences, q)
	}
	return tinker.Resolved(res, s.err), nil
}

type fixture struct {
	*httptest.Server
	t       *testing.T
	proxy   *Server
	sampler *scripted
	steps   map[int][]*experience.Experience
	refuse  error
}

func newFixture(t *testing.T, address string) *fixture {
	t.Helper()
	f := &fixture{t: t, sampler: &scripted{text: "four"}, steps: map[int][]*experience.Experience{}}
	h, err := buffer.OpenHistory(t.Context(), address, disk.OS())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	f.proxy, err = New(t.Context(), Options{Name: "tiny", Text: linewise(t), Params: tinker.DefaultSampling(),
		Context: 100, Now: time.Now, History: h,
		Commit: func(_ context.Context, step int, list []*experience.Experience) (map[string]float64, error) {
			if f.refuse == nil {
				f.steps[step] = list
			}
			return nil, f.refuse
		}})
	if err != nil {
		t.Fatal(err)
	}
	f.Server = httptest.NewServer(f.proxy.Handler())
	t.Cleanup(f.Server.Close)
	return f
}

func history(t *testing.T) string { return "sqlite:///" + filepath.Join(t.TempDir(), "history.db") }

func (f *fixture) post(path, body string) (int, map[string]any) {
	f.t.Helper()
	resp, err := http.Post(f.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		f.t.Fatalf("%s: %v: %s", path, err, raw)
	}
	return resp.StatusCode, out
}

func text(v any) string { raw, _ := json.Marshal(v); return string(raw) }

const hello = `{"model":"tiny","messages":[{"role":"user","content":[{"type":"text","text":"2+"},{"type":"text",` +
	`"text":"2?"}]}],"n":2,"temperature":0.1,"max_tokens":7,"logprobs":true,"return_token_ids":true,"stop":"END",` +
	`"seed":9}`

// An answer comes in OpenAI's form, and is recorded; its reward and commit make it a step.
func TestAskRewardCommit(t *testing.T) {
	address := history(t)
	f := newFixture(t, address)
	if status, body := f.post("/v1/chat/completions", hello); status != 503 ||
		!strings.Contains(text(body), "not_ready") {
		t.Errorf("before there is a model: %d %v", status, body)
	}
	f.proxy.Use(3, f.sampler)
	status, body := f.post("/v1/chat/completions", hello)
	if status != 200 || body["object"] != "chat.completion" || body["model"] != "tiny" {
		t.Fatalf("%d %v", status, body)
	}
	if got, want := text(body["choices"].([]any)[1]),
		`{"finish_reason":"stop","index":1,"logprobs":{"content":[`; !strings.HasPrefix(got, want) ||
		!strings.Contains(got, `"message":{"content":"four","refusal":null,"role":"assistant"},`+
			`"token_ids":[102,111,117,114]`) ||
		!strings.Contains(got, `{"bytes":[102],"logprob":-0.25,"token":"f","top_logprobs":[]}`) {
		t.Errorf("the second choice is %s", got)
	}
	if got := text(body["usage"]); got != `{"completion_tokens":8,"prompt_tokens":9,`+
		`"prompt_tokens_details":{"cached_tokens":0},"total_tokens":17}` {
		t.Errorf("usage %s", got)
	}
	p := f.sampler.asked.Params
	if p.Temperature != 1 || p.MaxTokens != 7 || !slices.Equal(p.StopStrings, []string{"END"}) || *p.Seed != 9 {
		t.Errorf("sampled with %+v: the temperature is the run's, the rest the request's", p)
	}
	id := body["id"].(string)

	if status, body := f.post("/feedback", `{"msg_ids":["`+id+`"]}`); status != 400 {
		t.Errorf("feedback without a reward: %d %v", status, body)
	}
	feedback := func(ids string) (int, string) {
		status, body := f.post("/feedback", `{"reward": 0.5, "msg_ids":["`+ids+`"], "task_id": "sum", "run_id": 4}`)
		return status, text(body)
	}
	for _, tt := range []struct {
		ids    string
		status int
		want   string
	}{
		{id + `", "never-asked`, 404, "there is no answer with the id never-asked; nothing was changed"},
		{id + `", "` + id, 200, `"experiences":2`}, // the answer above was left alone
		{id, 409, "a reward was given before to " + id},
		{"never-asked", 404, `"code":"unknown_msg_id"`},
		{id + `", "never-asked`, 404, "never-asked; a reward was given before to " + id},
	} {
		if status, body := feedback(tt.ids); status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("feedback on %s: %d %s; want %d %s", tt.ids, status, body, tt.status, tt.want)
		}
	}
	metrics := func(accept ...string) (string, string) {
		req, err := http.NewRequest("GET", f.URL+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Accept"] = accept
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		return strings.TrimSpace(string(raw)), resp.Header.Get("Content-Type")
	}
	for _, accept := range [][]string{nil, {"*/*"}, {"text/plain;version=0.0.4;q=0.3,*/*;q=0.1"}} {
		got, kind := metrics(accept...)
		if kind != "text/plain; version=0.0.4; charset=utf-8" || strings.Count(got, "# TYPE ") != 5 ||
			!strings.HasPrefix(got, "# HELP trinity_proxy_requests_total Requests to sample.\n"+
				"# TYPE trinity_proxy_requests_total counter\ntrinity_proxy_requests_total 2\n# HELP ") ||
			!strings.Contains(got, "# TYPE trinity_proxy_model_version gauge\ntrinity_proxy_model_version 3\n") {
			t.Errorf("metrics for Accept %q: %s %q", accept, kind, got)
		}
	}
	want := `{"explore_step_num":0,"rollout/model_0/model_version":3,"rollout/model_0/total_request_count":2,` +
		`"rollout/ready_experience_count":2,"rollout/total_experience_count":2}`
	if got, kind := metrics("text/html, application/json;q=0.9"); got != want || kind != "application/json" {
		t.Errorf("metrics as %s: %s, want %s", kind, got, want)
	}

	f.refuse = errors.New("full") // the process dies before the step is handed on
	if status, _ := f.post("/commit", ""); status != 502 {
		t.Errorf("a commit that fails: %d", status)
	}
	f = newFixture(t, address)
	if err := f.proxy.Replay(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if status, body := f.post("/commit", ""); status != 200 || body["experiences"] != 0.0 {
		t.Errorf("a commit of nothing: %d %v", status, body)
	}
	list := f.steps[1]
	if len(list) != 2 || len(f.steps) != 1 {
		t.Fatalf("steps %v, want the two experiences in step 1", f.steps)
	}
	e := list[1]
	if e.EID.TID() != "1/sum" || e.EID.Run != 4 || *e.Reward != 0.5 || e.Info.ModelVersion != 3 ||
		e.PromptLength != 9 || e.ResponseText != "four" || e.Validate() != nil ||
		e.Logprobs[3] != -0.25 || !strings.Contains(e.MessagesJSON, "2?") {
		t.Errorf("the experience is %+v", e)
	}
}

func TestStream(t *testing.T) {
	f := newFixture(t, history(t))
	f.proxy.Use(0, f.sampler)
	resp, err := http.Post(f.URL+"/v1/chat/completions", "application/json",
		strings.NewReader(strings.Replace(hello, `"n":2`, `"n":1,"stream":true,"stream_options":{"include_usage":true}`,
			1)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var deltas []string
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		data, ok := strings.CutPrefix(s.Text(), "data: ")
		if !ok {
			continue
		}
		var piece struct {
			Object  string
			Choices []struct {
				Delta  json.RawMessage `json:"delta"`
				Reason *string         `json:"finish_reason"`
				IDs    []int32         `json:"token_ids"`
			}
			Usage json.RawMessage
		}
		if data != "[DONE]" {
			if err := json.Unmarshal([]byte(data), &piece); err != nil || piece.Object != "chat.completion.chunk" {
				t.Fatalf("%v: %s", err, data)
			}
			for _, c := range piece.Choices {
				reason := "-"
				if c.Reason != nil {
					reason = *c.Reason
				}
				data = fmt.Sprintf("%s %s %d", c.Delta, reason, len(c.IDs))
			}
			if len(piece.Choices) == 0 {
				data = string(piece.Usage)
			}
		}
		deltas = append(deltas, data)
	}
	want := []string{`{"content":"","role":"assistant"} - 0`, `{"content":"four"} stop 4`,
		`{"completion_tokens":4,"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":0},"total_tokens":13}`,
		"[DONE]"}
	if !slices.Equal(deltas, want) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("the stream is %q, want %q", deltas, want)
	}
	if total, _, err := f.proxy.History.Counts(t.Context()); total != 1 || err != nil {
		t.Errorf("%d experiences are recorded, %v", total, err)
	}
}

func TestCompletions(t *testing.T) {
	f := newFixture(t, history(t))
	f.proxy.Use(0, f.sampler)
	for _, prompt := range []string{`"a7"`, `["a7"]`, `[97,55]`} {
		status, body := f.post("/v1/completions", `{"prompt":`+prompt+`,"logprobs":1}`)
		if got := text(body["choices"]); status != 200 ||
			got != `[{"finish_reason":"stop","index":0,"logprobs":{"text_offset":[0,1,2,3],`+
				`"token_logprobs":[-0.25,-0.25,-0.25,-0.25],"tokens":["f","o","u","r"],`+
				`"top_logprobs":[null,null,null,null]},"text":"four"}]` {
			t.Errorf("%s: %d %s", prompt, status, got)
		}
		if asked, _ := f.sampler.asked.Prompt.Tokens(); !slices.Equal(asked, []int32{97, 55}) {
			t.Errorf("%s is asked as %v", prompt, f.sampler.asked.Prompt)
		}
	}
}

// Tool calls come as calls, with their arguments as text, and go back as objects.
func TestToolCalls(t *testing.T) {
	f := newFixture(t, history(t))
	f.sampler.text = "<think>hm</think>let me see\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"b\": 2, \"a\": " +
		"[1]}}\n</tool_call>"
	f.proxy.Use(0, f.sampler)
	status, body := f.post("/v1/chat/completions",
		`{"messages":[{"role":"user","content":"?"},{"role":"assistant","content":null,`+
			`"tool_calls":[{"type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},{"role":"tool",`+
			`"content":"3"}],"tools":[{"type":"function","function":`+
			`{"name":"add"}}]}`)
	got := text(body["choices"])
	if status != 200 || !strings.Contains(got, `"finish_reason":"tool_calls"`) ||
		!strings.Contains(got, `"function":{"arguments":"{\"b\":2,\"a\":[1]}","name":"add"}`) ||
		!strings.Contains(got, `"reasoning_content":"hm"`) {
		t.Errorf("%d %s", status, got)
	}
	asked, _ := f.sampler.asked.Prompt.Tokens()
	if s := f.proxy.Text.Tokenizer.Decode(asked, true); !strings.Contains(s, "1 tools") {
		t.Errorf("the prompt is %q", s)
	}
}

// Arguments that are not JSON have the types of the request's tools.
func TestTypedCalls(t *testing.T) {
	f := newFixture(t, history(t))
	f.proxy.Text = templated(t, lines+"{# <arg_key><arg_value> #}")
	f.sampler.text = "<tool_call>f<arg_key>s</arg_key><arg_value>1</arg_value><arg_key>i</arg_key>" +
		"<arg_value>1</arg_value></tool_call>"
	f.proxy.Use(0, f.sampler)
	status, body := f.post("/v1/chat/completions", `{"messages":[{"role":"user","content":"?"}],"tools":[{"type":`+
		`"function","function":{"name":"f","parameters":{"properties":{"s":{"type":"string"}}}}}]}`)
	if got := text(body["choices"]); status != 200 || !strings.Contains(got, `"arguments":"{\"s\":\"1\",\"i\":1}"`) {
		t.Errorf("%d %s", status, got)
	}
}

func TestRefuses(t *testing.T) {
	f := newFixture(t, history(t))
	f.proxy.Use(0, f.sampler)
	for _, tt := range []struct {
		path, body, want string
		status           int
	}{
		{"/v1/chat/completions", `{"messages":[]}`, "at least one message", 400},
		{"/v1/chat/completions", `{"messages":[{"content":"x"}]}`, "role is missing", 400},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`,
			"only text is read", 400},
		{"/v1/chat/completions", `{"messages":[{"role":"nobody","content":"x"}]}`, "who is nobody", 400},
		{"/v1/chat/completions", `{"messages":`, "not a JSON object", 400},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 200) + `"}]}`,
			"context_length_exceeded", 400},
		{"/v1/completions", `{"prompt":["a","b"]}`, "each must be a request of its own", 400},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}}`, "not a JSON object", 400},
		{"/v1/completions", `{"prompt":"a"}{"prompt":"b"}`, "not a JSON object", 400},
		{"/feedback", `{"reward":"good","msg_ids":["x"]}`, "not the JSON", 400},
		{"/feedback", `{"reward":1e39,"msg_ids":["x"]}`, "reward is 1e+39; it must be a finite number", 400},
	} {
		status, body := f.post(tt.path, tt.body)
		if got := text(body["error"]); status != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s %.60s: %d %s, want %d with %q", tt.path, tt.body, status, got, tt.status, tt.want)
		}
	}
	f.sampler.err = errors.New("no paper")
	if status, body := f.post("/v1/completions", `{"prompt":"a"}`); status != 502 ||
		!strings.Contains(text(body), "bad_gateway") {
		t.Errorf("%d %v", status, body)
	}
	f.sampler.err = context.DeadlineExceeded
	if status, body := f.post("/v1/completions", `{"prompt":"a"}`); status != 504 ||
		!strings.Contains(text(body), "gateway_timeout") {
		t.Errorf("%d %v", status, body)
	}
	resp, err := http.Get(f.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if raw, _ := io.ReadAll(resp.Body); !bytes.Contains(raw, []byte(`"id":"tiny"`)) {
		t.Errorf("models: %s", raw)
	}
}
