package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

const shippedModel = "../../examples/tiny/model"

// newEndpoint is a server of the shipped model, which has a tokenizer and a chat template.
func newEndpoint(t *testing.T) *rig {
	return newTunedRig(t, Options{Models: Models{Tokenizers: map[string]string{"tiny": shippedModel}}}, shipped)
}

// shipped gives an engine the shipped model.
func shipped(o *engine.Options) { o.Models = map[string]engine.Model{"tiny": {Dir: shippedModel}} }

// openaiAnswer is what these tests read of an answer, whole or an event.
type openaiAnswer struct {
	Choices []struct {
		Index    int
		TokenIDs []int32 `json:"token_ids"`
		Logprobs *struct {
			Content []struct{ Logprob float32 }
			Logs    []float32 `json:"token_logprobs"`
		}
		Finish string `json:"finish_reason"`
	}
	PromptIDs []int32 `json:"prompt_token_ids"`
	Data      []struct {
		ID, Kind string
		Parent   *string
		Context  int `json:"max_model_len"`
	}
	Error *struct {
		Message, Type string
		Code          *string
	}
}

// bitsOf are the logprobs of a choice.
func (c *openaiAnswer) bitsOf(i int) (out []float32) {
	l := c.Choices[i].Logprobs
	if l == nil {
		return nil
	}
	for _, x := range l.Content {
		out = append(out, x.Logprob)
	}
	return append(out, l.Logs...)
}

// openai sends a request and reads its answer, or adds up its events.
func (r *rig) openai(method, path, body string) (int, openaiAnswer) {
	r.t.Helper()
	var send any
	if body != "" {
		send = rawJSON(body)
	}
	code, h, raw := r.send(method, path, send)
	if !strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		var out openaiAnswer
		if err := json.Unmarshal(raw, &out); err != nil {
			r.t.Fatalf("%s: %v: %s", path, err, raw)
		}
		return code, out
	}
	return code, r.gather(raw)
}

// gather adds up the events of a stream.
func (r *rig) gather(raw []byte) (sum openaiAnswer) {
	r.t.Helper()
	events := strings.Split(strings.TrimSuffix(string(raw), "\n\n"), "\n\n")
	if events[len(events)-1] != "data: [DONE]" {
		r.t.Fatalf("the stream ends with %q", events[len(events)-1])
	}
	for _, e := range events[:len(events)-1] {
		var one openaiAnswer
		if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &one); err != nil {
			r.t.Fatalf("%v: %q", err, e)
		}
		sum.PromptIDs = append(sum.PromptIDs, one.PromptIDs...)
		for i, c := range one.Choices {
			for len(sum.Choices) <= c.Index {
				sum.Choices = append(sum.Choices, one.Choices[i])
				last := &sum.Choices[len(sum.Choices)-1]
				last.TokenIDs, last.Logprobs, last.Finish = nil, nil, ""
			}
			to := &sum.Choices[c.Index]
			to.TokenIDs, to.Finish = append(to.TokenIDs, c.TokenIDs...), to.Finish+c.Finish
			if c.Logprobs == nil {
				continue
			}
			if to.Logprobs == nil {
				to.Logprobs = c.Logprobs
				continue
			}
			to.Logprobs.Content = append(to.Logprobs.Content, c.Logprobs.Content...)
			to.Logprobs.Logs = append(to.Logprobs.Logs, c.Logprobs.Logs...)
		}
	}
	return sum
}

// The same prompt, parameters and seed give the same tokens and logprob bits over asample, chats and completions, whole
// or streamed, under both prefixes.
func TestOpenAISaysWhatTheTinkerProtocolSays(t *testing.T) {
	r := newEndpoint(t)
	const same = `"model":"small","n":2,"seed":11,"max_tokens":24,"temperature":1.2,"top_p":0.9,` +
		`"return_token_ids":true`
	_, chat := r.openai("POST", "/oai/api/v1/chat/completions",
		`{`+same+`,"logprobs":true,"messages":[{"role":"user","content":"What is 12 + 30?"}]}`)
	if chat.Error != nil {
		t.Fatalf("%+v", chat.Error)
	}
	sampler := r.sampler(r.session(), 0, map[string]any{"base_model": "tiny"})
	chunk := map[string]any{"type": "encoded_text", "tokens": chat.PromptIDs}
	want := r.samples(r.promise("/asample", asample(sampler, 0, map[string]any{"num_samples": 2,
		"prompt":          map[string]any{"chunks": []any{chunk}},
		"sampling_params": map[string]any{"max_tokens": 24, "seed": 11, "temperature": 1.2, "top_p": 0.9}})))
	ids, err := json.Marshal(chat.PromptIDs)
	if err != nil {
		t.Fatal(err)
	}
	text := `{` + same + `,"logprobs":0,"prompt":` + string(ids)
	for name, got := range map[string]openaiAnswer{
		"chat":      chat,
		"text":      second(r.openai("POST", "/v1/completions", text+"}")),
		"stream":    second(r.openai("POST", "/oai/api/v1/completions", text+`,"stream":true}`)),
		"its twice": second(r.openai("POST", "/v1/completions", text+`,"stream":true}`)),
	} {
		for i, q := range want.Sequences {
			if c := got.Choices[i]; !slices.Equal(c.TokenIDs, q.Tokens) || !slices.Equal(got.bitsOf(i), q.Logprobs) ||
				c.Finish != string(q.StopReason) {
				t.Errorf("%s, sample %d: %v %v %s, the Tinker protocol %+v", name, i, c.TokenIDs, got.bitsOf(i),
					c.Finish, q)
			}
		}
	}
}

func second(_ int, c openaiAnswer) openaiAnswer { return c }

// A checkpoint is sampled by its path as soon as it is saved, by its tenant alone, and not after it is deleted. A new
// checkpoint under the same path is sampled with its own weights.
func TestOpenAIModels(t *testing.T) {
	r := newEndpoint(t)
	r.key = "tml-owner"
	m := r.model(r.session(), 0)
	r.post("/forward_backward", batch(m, 1, false), nil)
	r.post("/optim_step", step(m, 2), nil)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "one", "seq_id": 3}))
	path := "tinker://" + m + "/sampler_weights/one"
	ask := func(r *rig, model string) (int, openaiAnswer) {
		return r.openai("POST", "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":[5,6,7],"max_tokens":6,"seed":1,`+
			`"return_token_ids":true,"logprobs":0}`, model))
	}
	_, base := ask(r, "tiny")
	for _, name := range []string{path, "tiny;" + path, "small;" + path} {
		code, got := ask(r, name)
		if code != http.StatusOK || slices.Equal(got.bitsOf(0), base.bitsOf(0)) {
			t.Errorf("%s: %d %+v, the base model %v", name, code, got, base.bitsOf(0))
		}
	}
	_, list := r.openai("GET", "/oai/api/v1/models", "")
	kinds := ""
	for _, c := range list.Data {
		kinds += c.ID + " " + c.Kind + "; "
		if c.Context != 512 && c.Context < 100 || c.Kind == "sampler" && (c.Parent == nil || *c.Parent != "tiny") {
			t.Errorf("card %+v", c)
		}
	}
	if kinds != "tiny base; small base; "+path+" sampler; " {
		t.Errorf("models: %s", kinds)
	}
	if code, _ := r.openai("GET", "/v1/models/tiny", ""); code != http.StatusOK {
		t.Errorf("models/tiny: %d", code)
	}
	other := r.as("tml-other")
	for _, c := range []struct {
		r    *rig
		name string
		code int
	}{{other, path, 404}, {other, "tiny;" + path, 404}, {r, "absent", 404}, {r, "absent;" + path, 400},
		{r, "tinker://" + m + "/sampler_weights/two", 404}} {
		if code, got := ask(c.r, c.name); code != c.code || got.Error == nil {
			t.Errorf("%s: %d %+v, want %d", c.name, code, got.Error, c.code)
		}
	}
	if _, list := other.openai("GET", "/v1/models", ""); len(list.Data) != 2 {
		t.Errorf("another tenant sees %+v", list.Data)
	}
	_, old := ask(r, path)
	code, _, _ := r.send("DELETE", wire.Prefix+"/training_runs/"+m+"/checkpoints/sampler_weights/one", nil)
	if again, _ := ask(r, path); code != http.StatusOK || again != http.StatusNotFound {
		t.Errorf("deleted (%d): %d, want 404", code, again)
	}
	r.post("/forward_backward", batch(m, 4, false), nil)
	r.post("/optim_step", step(m, 5), nil)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "one", "seq_id": 6}))
	code, saved := ask(r, path)
	if code != http.StatusOK || slices.Equal(saved.bitsOf(0), old.bitsOf(0)) {
		t.Errorf("saved again: %d %v, before %v", code, saved.bitsOf(0), old.bitsOf(0))
	}
	if _, got := ask(r, "tinker://"+m+"/one"); !slices.Equal(got.bitsOf(0), saved.bitsOf(0)) {
		t.Errorf("the path without its kind, as SkyRL spells it: %v, want %v", got.bitsOf(0), saved.bitsOf(0))
	}
	r.result(r.promise("/save_weights", map[string]any{"model_id": m, "path": "state", "seq_id": 7}))
	if _, got := ask(r, "tinker://"+m+"/weights/state"); !slices.Equal(got.bitsOf(0), saved.bitsOf(0)) {
		t.Errorf("the training state of the same weights: %v, want %v", got.bitsOf(0), saved.bitsOf(0))
	}
}

func TestOpenAIErrors(t *testing.T) {
	r := newEndpoint(t)
	for _, c := range []struct {
		key, path, body string
		code            int
		kind, text      string
	}{
		{"foreign", "/v1/chat/completions", `{}`, 400, "", "model is missing"},
		{"tml-a", "/v1/chat/completions", `{"model":`, 400, "", ""},
		{"tml-a", "/v1/completions", `{"model":"tiny","prompt":"a","max_tokens":100000}`, 400,
			"context_length_exceeded", "maximum context length"},
		{"tml-a", "/v1/completions", `{"model":"none","prompt":"a"}`, 404, "model_not_found", "none"},
		{"tml-a", "/v1/completions", `{"model":"tiny","prompt":"a","n":1.5}`, 400, "", "n is 1.5"},
	} {
		r.key = c.key
		code, got := r.openai("POST", c.path, c.body)
		if code != c.code || got.Error == nil || !strings.Contains(got.Error.Message, c.text) ||
			c.kind != "" && (got.Error.Code == nil || *got.Error.Code != c.kind) {
			t.Errorf("%s: %d %+v, want %d %s %q", c.body, code, got.Error, c.code, c.kind, c.text)
		}
	}
}

// Clients that vanish midway leave no request, page, weights or goroutine behind.
func TestOpenAIClientsVanish(t *testing.T) {
	r := newEndpoint(t)
	const body = `{"model":"tiny","prompt":"What is","max_tokens":400,"n":2,"ignore_eos":true,"stream":%v}`
	var clients sync.WaitGroup
	var once sync.Once
	drawing := make(chan struct{})
	for i := range 40 {
		clients.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%2 == 1 { // of a whole answer the client hears nothing until it vanishes
				go func() { <-drawing; cancel() }()
			}
			req, err := http.NewRequestWithContext(ctx, "POST", r.web.URL+"/v1/completions",
				strings.NewReader(fmt.Sprintf(body, i%2 == 0)))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set(wire.HeaderKey, fmt.Sprintf("tml-%d", i%3))
			resp, err := r.web.Client().Do(req)
			if i%2 == 1 && errors.Is(err, context.Canceled) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			for range i % 7 {
				lines.Scan()
				once.Do(func() { close(drawing) })
			}
		})
	}
	clients.Wait()
	left := func() string {
		stats := r.server.opts.Store.(*engine.Engine).Stats()
		r.server.state.Lock()
		defer r.server.state.Unlock()
		return fmt.Sprintf("%d sequences, %d requests, %d weights, %d bytes", stats.Running,
			stats.Waiting[tinker.Sampling].Requests, len(r.server.weights.Lent), r.server.edge.Bodies.Budget().InUse())
	}
	const nothing = "0 sequences, 0 requests, 0 weights, 0 bytes"
	eventually(t, func() string { now := left(); return unless(now == nothing, now) })
	if n := r.server.opts.Store.(*engine.Engine).Stats().Decode; n > 40*2*400*3/4 {
		t.Errorf("%d tokens were drawn for clients that read a few of %d", n, 40*2*400)
	}
}
