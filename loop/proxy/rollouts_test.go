package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
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

// gate samples when it is told to, or not at all.
type gate struct {
	foreign
	asked, open chan struct{}
}

func (g *gate) Sample(ctx context.Context, req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	close(g.asked)
	select {
	case <-g.open:
		return g.foreign.Sample(ctx, req)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// offering is a server of offered rollouts.
func offering(t *testing.T, work bool) (*Offers, string) {
	t.Helper()
	o := NewOffers(OfferOptions{Name: "tiny", Text: linewise(t), Now: time.Now, Work: work})
	s := httptest.NewServer(o.Handler())
	t.Cleanup(s.Close)
	return o, s.URL
}

// A workflow's rollout is handed out once, with its row, samples with its own weights, and ends with its reward.
func TestOfferedRollouts(t *testing.T) {
	o, url := offering(t, true)
	if status, _, body := requested(t, "POST", url+"/rollouts/next", "", ""); status != 204 || body != "" {
		t.Errorf("nothing to do: %d %s", status, body)
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	sampler := &foreign{text: "abab"}
	params := tinker.DefaultSampling()
	params.MaxTokens = 9
	opening := workflow.Opening{Name: "3-0-1", Row: dataset.Row{{Key: "question", Value: "2+2?"}}, Eval: true,
		Sampler: sampler, Version: 5, Params: params, Context: 200, Seed: 11}
	one, err := o.Open(opening)
	if err != nil {
		t.Fatal(err)
	}
	wait.Go(func() {
		defer one.Close()
		e, err := one.Wait(t.Context())
		if err != nil || e.RewardOr(0) != 0.5 || e.Info.ModelVersion != 5 || e.TrainableTokens() != 4 {
			t.Errorf("%+v, %v", e, err)
		}
	})
	var got struct {
		ID   string          `json:"rollout_id"`
		Base string          `json:"base_url"`
		Task json.RawMessage `json:"task"`
		Eval bool            `json:"is_eval"`
	}
	_, _, body := requested(t, "POST", url+"/rollouts/next", "", `{"wait":30}`)
	err = json.Unmarshal([]byte(body), &got)
	if err != nil || string(got.Task) != `{"question":"2+2?"}` || !got.Eval ||
		got.Base != url+"/rollouts/"+got.ID+"/v1" || !strings.HasPrefix(got.ID, "3-0-1-") {
		t.Fatalf("%v %s", err, body)
	}
	if status, _, _ := requested(t, "POST", url+"/rollouts/next", "", ""); status != 204 {
		t.Errorf("it is handed out twice: %d", status)
	}
	for _, c := range []struct {
		path, session, body string
		status              int
		want                string
	}{
		{"/rollouts/" + got.ID + "/feedback", "", `{"reward":1}`, 409, "no call yet"},
		{"/v1/chat/completions", "", question, 404, "base_url"},
		{"/v1/chat/completions", "other", question, 404, "rollout_workflow opens"},
		{"/rollouts/other/v1/chat/completions", "", question, 404, "POST /rollouts/next"},
		{"/sessions", "", `{"session_id":"mine"}`, 404, "POST /rollouts/next"},
		{"/rollouts/" + got.ID + "/v1/chat/completions", "", question, 200, "abab"},
		{"/proxy/rollout/" + got.ID + "/attempt/0/mode/val/openai/v1/chat/completions", "",
			`{"n":2,` + question[1:], 400, `"param":"n"`},
		{"/rollouts/" + got.ID + "/feedback", "", `{"reward":0.5}`, 200, "success"},
		{"/rollouts/" + got.ID + "/feedback", "", `{"reward":0.5}`, 409, "rollout_finished"},
		{"/v1/chat/completions", got.ID, question, 409, "rollout_finished"},
	} {
		if status, _, body := requested(t, "POST", url+c.path, c.session, c.body); status != c.status ||
			!strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s, want %d %s", c.path, c.body, status, body, c.status, c.want)
		}
	}
	_, other := offering(t, false)
	if status, _, body := requested(t, "POST", other+"/rollouts/x/v1/chat/completions", "", question); status != 404 ||
		!strings.Contains(body, "default_workflow_type: rollout_workflow") {
		t.Errorf("%d %s", status, body)
	}
}

// A program that asks for work before there is any waits for it, and hears of it at once.
func TestOfferedRolloutIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOffers(OfferOptions{Name: "tiny", Text: linewise(t), Now: time.Now, Work: true})
		heard, handler := httptest.NewRecorder(), o.Handler()
		begin, answered := time.Now(), make(chan struct{})
		go func() {
			handler.ServeHTTP(heard, httptest.NewRequest("POST", "/rollouts/next", strings.NewReader(`{"wait":30}`)))
			close(answered)
		}()
		time.Sleep(10 * time.Second)
		one, err := o.Open(workflow.Opening{Name: "n", Params: tinker.DefaultSampling()})
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		<-answered
		if d := time.Since(begin); heard.Code != http.StatusOK || d != 10*time.Second {
			t.Errorf("after %v: %d %s", d, heard.Code, heard.Body)
		}
	})
}

// A rollout that is given up or has no reward in time fails its attempt, and its calls end.
func TestOfferedRolloutsEnd(t *testing.T) {
	o, url := offering(t, true)
	g := &gate{foreign{text: "ab"}, make(chan struct{}), make(chan struct{})}
	open := func() (workflow.Offered, string) {
		one, err := o.Open(workflow.Opening{Name: "n", Sampler: g, Params: tinker.DefaultSampling()})
		if err != nil {
			t.Fatal(err)
		}
		return one, one.(*offer).id
	}
	one, id := open()
	status := make(chan int)
	go func() {
		resp, err := http.Post(url+"/rollouts/"+id+"/v1/chat/completions", "application/json",
			strings.NewReader(question))
		if err != nil {
			status <- 0
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	late := errors.New("late")
	<-g.asked
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if _, err := one.Wait(ctx); !errors.Is(err, late) {
		t.Errorf("Wait: %v", err)
	}
	one.Close()
	if got := <-status; got != http.StatusNotFound {
		t.Errorf("the call under way ended with %d", got)
	}
	if status, _, body := requested(t, "POST", url+"/rollouts/"+id+"/feedback", "", `{"reward":1}`); status != 404 ||
		!strings.Contains(body, "not open any more") {
		t.Errorf("%d %s", status, body)
	}
	two, id := open()
	if status, _, body := requested(t, "DELETE", url+"/sessions/"+id, "", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if _, err := two.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "gave it up") {
		t.Errorf("Wait: %v", err)
	}
	two.Close()
	if n := len(o.handler.calls.open) + len(o.handler.calls.waiting) + o.handler.calls.bytes; n != 0 {
		t.Errorf("%d rollouts and bytes are left", n)
	}
}

// Rollouts that nothing was asked of make room for others; those with calls do not.
func TestUnusedRolloutsMakeRoom(t *testing.T) {
	s := newRollouts(time.Now)
	s.begin = func(_ context.Context, id string) (*rollout, error) { return newRollout(id), nil }
	used, err := s.find(t.Context(), "used", true)
	if err == nil {
		err = s.grow(used, "answer", 1)
	}
	for i := 0; err == nil && i < mostOpen; i++ { // the last one has no place
		_, err = s.find(t.Context(), fmt.Sprint(i), true)
	}
	if err != nil || len(s.open) != 2 || s.open["used"] == nil || used.over() != nil {
		t.Errorf("%d are open, %v", len(s.open), err)
	}
	if err := s.grow(used, "b", mostBytes); !errors.Is(err, tinker.ErrBusy) {
		t.Errorf("beyond the memory: %v", err)
	}
}

// The seed of a call depends on its prompt and how often it was asked, and not on the order of calls.
func TestSeedsDoNotDependOnTheOrder(t *testing.T) {
	draw := func(prompts ...string) map[string]bool {
		r := newRollout("r")
		next := r.seeds(5)
		seen := map[string]bool{}
		for _, p := range prompts {
			ids, _ := bytesOnly(p)
			seed, err := next(askedOf(ids))
			if err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprint(p, seed)] = true
		}
		return seen
	}
	a, b := draw("x", "y", "x"), draw("y", "x", "x")
	if len(a) != 3 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%v and %v", a, b)
	}
}

// FuzzRolloutBodies: no body or path makes a fault of the server or an answer that is not JSON.
func FuzzRolloutBodies(f *testing.F) {
	o := NewOffers(OfferOptions{Name: "tiny", Text: linewise(f), Now: time.Now, Work: true})
	one, err := o.Open(workflow.Opening{Name: "n", Sampler: &foreign{text: "ab"}, Params: tinker.DefaultSampling()})
	if err != nil {
		f.Fatal(err)
	}
	id := one.(*offer).id
	for _, c := range [][2]string{{"/rollouts/next", `{"wait":0}`}, {"/rollouts/ID/feedback", `{"reward":"x"}`},
		{"/api/rollouts/ID/attempt/1/events", `{"event_type":"reward","data":{"value":null}}`}, {"/sessions", `{}`},
		{"/rollouts/ID/v1/chat/completions", question}, {"/traces/query", `{"session_ids":[""]}`},
		{"/proxy/rollout/a/attempt//mode//openai/v1/completions", `{"prompt":[1,2]}`}, {"/sessions//v1/v1/", `[]`}} {
		f.Add(c[0], c[1])
	}
	h := o.Handler()
	f.Fuzz(func(t *testing.T, path, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#%") || strings.Contains(body, "wait") &&
			!strings.Contains(body, `{"wait":0}`) {
			t.Skip()
		}
		r, err := http.NewRequest("POST", "http://host/", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		r.URL.Path = strings.ReplaceAll(path, "ID", id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 || w.Code == 200 && !json.Valid(w.Body.Bytes()) &&
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	})
}

// When two end a rollout at once, its memory is counted back once.
func TestRemovedTwiceAtOnce(t *testing.T) {
	s := newRollouts(time.Now)
	s.begin = func(_ context.Context, id string) (*rollout, error) { return newRollout(id), nil }
	for i := range 200 {
		r, err := s.find(t.Context(), fmt.Sprint(i), true)
		if err == nil {
			err = s.grow(r, "answer", 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.bytes = 7
		var both sync.WaitGroup
		for _, why := range []error{errRewarded(r.id), nil} {
			both.Go(func() { s.remove(r, why) })
		}
		both.Wait()
	}
	if s.bytes != 0 || len(s.open) != 0 {
		t.Errorf("%d bytes and %d rollouts are left", s.bytes, len(s.open))
	}
}
