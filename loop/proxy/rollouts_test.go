package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

const question = `{"model":"any","messages":[{"role":"user","content":"2+2?"}]}`

// requested sends a request with a header X-Session-ID, if session is not empty.
func requested(t *testing.T, method, url, session, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if session != "" {
		req.Header.Set("X-Session-ID", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(raw)
}

// In serve mode the first call opens a rollout, whatever form its URL has; its reward makes one experience of it.
func TestServeRollouts(t *testing.T) {
	address := history(t)
	f := newFixture(t, address)
	sampler := &foreign{text: "abab"}
	f.proxy.Context = 500
	f.proxy.Use(3, sampler)
	const second = `{"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"abab"},` +
		`{"role":"user","content":"sure?"}],"temperature":0.3,"top_k":5,"seed":4,"max_tokens":3,"stop":"END"}`
	for _, c := range []struct{ name, calls, session, reward, body, task string }{
		{"ours", "/rollouts/a/b/v1/chat/completions", "", "/rollouts/a/b/feedback", `{"reward":1}`, "a/b"},
		{"sessions", "/sessions/x/v1/y/v1/chat/completions", "", "/sessions/x/v1/y/feedback", `{"value":1}`, "x/v1/y"},
		{"Agent Lightning", "/proxy/rollout/r7/attempt/2/mode/train/openai/v1/chat/completions", "",
			"/api/rollouts/r7/attempt/2/events", `{"event_type":"reward","data":{"value":1.0,"source":"agent"}}`, "r7"},
		{"a header", "/v1/chat/completions", "h 1", "/rollouts/h%201/feedback",
			`{"reward":1,"task_id":"group","run_id":3}`, "group"},
		{"below the base URL", "/rollouts/z/v1/chat/completions", "", "/rollouts/z/v1/feedback", `{"reward":1}`, "z"},
		{"msg_ids", "/rollouts/m/v1/chat/completions", "", "/feedback", `{"reward":1,"msg_ids":["ID"]}`, "m"},
	} {
		status, _, body := requested(t, "POST", f.URL+c.calls, c.session, question)
		if status != 200 {
			t.Fatalf("%s: %d %s", c.name, status, body)
		}
		status, h, body := requested(t, "POST", f.URL+c.calls, c.session, second)
		if got := h.Get("X-Trinity-Overrode"); status != 200 || got != "temperature,top_k,seed" {
			t.Errorf("%s: %d, overrode %q: %s", c.name, status, got, body)
		}
		if sampler.held() != 1 {
			t.Errorf("%s: the second prompt does not continue the first answer: %v", c.name, sampler.asked)
		}
		var answer struct{ ID string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		reward := strings.Replace(c.body, "ID", answer.ID, 1)
		if status, _, body := requested(t, "POST", f.URL+c.reward, "", reward); status != 200 {
			t.Errorf("%s: reward: %d %s", c.name, status, body)
		}
		if status, _, body := requested(t, "POST", f.URL+c.reward, "", reward); status != 409 {
			t.Errorf("%s: a second reward: %d %s", c.name, status, body)
		}
		if status, _, body := requested(t, "POST", f.URL+c.calls, c.session, question); status != 409 ||
			!strings.Contains(body, "rollout_finished") {
			t.Errorf("%s: a call after the reward: %d %s", c.name, status, body)
		}
	}
	f.post("/commit", "")
	list := f.steps[1]
	if len(list) != 6 {
		t.Fatalf("%d experiences, want 6", len(list))
	}
	got := map[string]int{}
	for _, e := range list {
		got[e.EID.Task] = e.EID.Run
		if err := e.Validate(); err != nil || e.TrainableTokens() != 8 || e.Info.ModelVersion != 3 ||
			e.RewardOr(0) != 1 || len(e.Starts) != 0 {
			t.Errorf("%v: %+v", err, e)
		}
	}
	if want := map[string]int{"a/b": 0, "x/v1/y": 0, "r7": 2, "group": 3, "m": 0,
		"z": 0}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("tasks and runs %v, want %v", got, want)
	}
	f = newFixture(t, address) // a restart
	f.proxy.Use(3, sampler)
	if status, _, body := requested(t, "POST", f.URL+"/rollouts/a/b/v1/chat/completions", "", question); status != 409 {
		t.Errorf("after a restart a rewarded rollout takes calls: %d %s", status, body)
	}
}

// Every interface is served below the URL of a rollout, and continues what the others sampled.
func TestRolloutsInEveryInterface(t *testing.T) {
	f := newFixture(t, history(t))
	f.proxy.Context = 500
	sampler := &foreign{text: "abab"}
	f.proxy.Use(3, sampler)
	const rest = `,"messages":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"abab"},` +
		`{"role":"user","content":"sure?"}]}`
	for _, c := range []struct{ path, session, body, overrode string }{
		{"/rollouts/r/v1/chat/completions", "", question, ""},
		{"/rollouts/r/v1/messages", "", `{"model":"any","max_tokens":9,"temperature":0.5` + rest, "temperature"},
		{"/v1/messages", "r", `{"model":"any","max_tokens":9` + rest, ""},
		{"/rollouts/r/v1/responses", "", `{"model":"any","max_output_tokens":20,"input":[{"role":"user","content":` +
			`"2+2?"},{"role":"assistant","content":"abab"},{"role":"user","content":"sure?"}]}`, ""},
		{"/rollouts/r/inference/v1/generate", "", `{"model":"any","token_ids":IDS,"sampling_params":{"max_tokens":7,` +
			`"temperature":0.5}}`, "temperature"},
		{"/inference/v1/generate", "r", `{"model":"any","token_ids":IDS,"sampling_params":{}}`, ""},
		{"/rollouts/r/v1/chat/completions/tokens", "", `{"model":"any","temperature":0.5,"tokens":IDS` + rest,
			"temperature"},
		{"/v1/chat/completions/tokens", "r", `{"model":"any","tokens":IDS` + rest, ""},
	} {
		// generate continues what was asked last and its answer, by ids; three calls have those, and the first counts
		ids, err := json.Marshal(append(append([]int32{}, sampler.asked...), 97, 98, 97, 98, 63))
		if err != nil {
			t.Fatal(err)
		}
		status, h, body := requested(t, "POST", f.URL+c.path, c.session, strings.Replace(c.body, "IDS", string(ids), 1))
		if got := h.Get("X-Trinity-Overrode"); status != 200 || got != c.overrode {
			t.Errorf("%s: %d, overrode %q: %s", c.path, status, got, body)
		}
	}
	one, err := f.proxy.handler.calls.known("r")
	if err != nil {
		t.Fatal(err)
	}
	parents, list := "", one.calls()
	for _, c := range list {
		n := -1
		for i, p := range list {
			if p == c.parent {
				n = i
			}
		}
		parents += fmt.Sprint(n, " ")
	}
	if want := "-1 0 0 0 1 4 5 6 "; parents != want {
		t.Errorf("the calls continue %s, want %s", parents, want)
	}
	for _, path := range []string{"/v1/models", "/rollouts/r/v1/models"} { // in Anthropic's form
		req, err := http.NewRequest("GET", f.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("anthropic-version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.Contains(raw, []byte(`"first_id":"tiny","has_more":false,"last_id":"tiny"}`)) {
			t.Errorf("%s: %s %s", path, resp.Status, raw)
		}
	}
	if status, _, body := requested(t, "POST", f.URL+"/rollouts/r/feedback", "", `{"reward":1}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	f.post("/commit", "")
	if e := f.steps[1][0]; e.TrainableTokens() != 4*len(list) || len(e.Starts) != 2 || e.Validate() != nil {
		t.Errorf("%d tokens are trained, sequences begin at %v", e.TrainableTokens(), e.Starts)
	}
}

func TestServeSessions(t *testing.T) {
	f := newFixture(t, history(t))
	f.proxy.Use(3, &foreign{text: "abab"})
	status, _, body := requested(t, "POST", f.URL+"/sessions", "", `{"session_id":"s","metadata":{"a":1}}`)
	if want := fmt.Sprintf(`{"session_id":"s","url":"%s/sessions/s/v1"}`, f.URL); status != 200 ||
		strings.TrimSpace(body) != want {
		t.Errorf("%d %s, want %s", status, body, want)
	}
	requested(t, "POST", f.URL+"/sessions/s/v1/chat/completions", "", question)
	requested(t, "POST", f.URL+"/sessions/s/v1/completions", "", `{"prompt":"a"}`)
	status, _, body = requested(t, "GET", f.URL+"/sessions/s/traces", "", "")
	var list []endpoint.Trace
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || len(list) != 2 {
		t.Fatalf("%d %v %s", status, err, body)
	}
	if c := list[0]; c.Session != "s" || c.Model != "tiny" || len(c.IDs) != 4 || len(c.Logprobs) != 4 ||
		c.Version != 3 || c.Finish != "length" || c.Counts["completion"] != 4 ||
		len(c.PromptIDs) != c.Counts["prompt"] ||
		!bytes.Contains(c.Messages, []byte("2+2?")) || !bytes.Contains(c.Message, []byte(`"content":"abab"`)) {
		t.Errorf("the trace is %s", body)
	}
	_, _, body = requested(t, "POST", f.URL+"/traces/query", "", `{"session_ids":["s","none"]}`)
	if strings.Count(body, `"trace_id"`) != 2 {
		t.Errorf("query: %s", body)
	}
	if status, _, body := requested(t, "DELETE", f.URL+"/sessions/s", "", ""); status != 200 ||
		!strings.Contains(body, `"deleted":2`) {
		t.Errorf("%d %s", status, body)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/sessions/s/traces", "", 404, "its first call"},
		{"DELETE", "/sessions/s", "", 404, "not open"},
		{"POST", "/rollouts/s/feedback", `{"reward":1}`, 404, "not open"},
		{"POST", "/sessions/s/feedback", `{}`, 400, "reward is missing"},
		{"POST", "/rollouts/s/v1/embeddings", `{}`, 404, "unknown_url"},
		{"GET", "/rollouts/s", "", 404, "unknown_url"},
		{"GET", "/rollouts/s/v1/chat/completions", "", 404, "unknown_url"},
		{"POST", "/proxy/rollout/s/attempt/1/openai/v1/chat/completions", question, 404, "unknown_url"},
		{"POST", "/api/rollouts/s/attempt/1/events", `{"event_type":"span","data":{}}`, 400, "only reward"},
		{"POST", "/rollouts/next", `{"wait":1}`, 404, "no_work"},
		{"GET", "/rollouts/s/v1/models", "", 200, `"tiny"`},
		{"POST", "/rollouts/s/v1/chat/completions", `{"n":2,` + question[1:], 400, `"param":"n"`},
		{"POST", "/rollouts/s/v1/completions", `{"prompt":"a","n":2}`, 400, `"param":"n"`},
		{"POST", "/rollouts/s/v1/completions", `{"prompt":["a","b"]}`, 400, "each must be a request"},
		{"POST", "/rollouts/s/v1/chat/completions", `{"response_format":{"type":"json_object"},` + question[1:], 400,
			"response_format changes the distribution"},
		{"POST", "/v1/chat/completions", `{"logit_bias":{"5":1},` + question[1:], 400, "logit_bias changes"},
		{"POST", "/rollouts/" + strings.Repeat("x", 2000) + "/v1/completions", `{"prompt":"a"}`, 400, "2000 bytes"},
		{"POST", "/rollouts/empty/v1/completions", `{"prompt":"a","temprature":1}`, 400, "temprature"},
		{"POST", "/rollouts/empty/feedback", `{"reward":1}`, 409, "no call yet"},
	} {
		if status, _, body := requested(t, c.method, f.URL+c.path, "", c.body); status != c.status ||
			!strings.Contains(body, c.want) {
			t.Errorf("%s %.60s %s: %d %s, want %d %s", c.method, c.path, c.body, status, body, c.status, c.want)
		}
	}
}
