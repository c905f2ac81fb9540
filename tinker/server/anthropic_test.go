package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/engine"
)

// request sends a body with headers and returns status and answer.
func (r *rig) request(method, path, body string, headers map[string]string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.web.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := r.web.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

const question = `"messages":[{"role":"user","content":"What is 12 + 30?"}]`

// Messages are served under both prefixes, with the key in either header, and errors have Anthropic's form.
func TestAnthropicRoutes(t *testing.T) {
	r := newEndpoint(t)
	x, bearer := map[string]string{"x-api-key": "tml-a"}, map[string]string{"Authorization": "Bearer tml-a"}
	const good = `{"model":"small","max_tokens":4,"seed":1,` + question + `}`
	for _, c := range []struct {
		path, body string
		headers    map[string]string
		code       int
		text       string
	}{
		{"/messages", good, x, 200, `"type":"message"`},
		{"/messages?beta=true", good, bearer, 200, `"model":"small"`},
		{"/messages", good[:len(good)-1] + `,"stream":true}`, bearer, 200, "event: message_stop\n"},
		{"/messages/count_tokens", `{"model":"tiny",` + question + `}`, x, 200, `{"input_tokens":`},
		{"/messages", good, nil, 200, `"type":"message"`},
		{"/messages", good, map[string]string{"x-api-key": "foreign"}, 200, `"type":"message"`},
		{"/messages", strings.Replace(good, "small", "absent", 1), x, 404, `"type":"not_found_error"},"type":"error"}`},
		{"/messages/count_tokens", `{"model":"absent",` + question + `}`, x, 404, `"not_found_error"`},
		{"/messages", strings.Replace(good, "4", "100000", 1), x, 400, "exceed context limit"},
		{"/messages", "{", x, 400, `"type":"invalid_request_error"},"type":"error"}`},
	} {
		for _, prefix := range []string{"/anthropic/api/v1", "/v1"} {
			code, got := r.request("POST", prefix+c.path, c.body, c.headers)
			if code != c.code || !strings.Contains(got, c.text) {
				t.Errorf("%s%s %s %v: %d %s, want %d %s", prefix, c.path, c.body, c.headers, code, got, c.code, c.text)
			}
		}
	}
}

// A server that closes asks clients of messages to come back, as Anthropic's do.
func TestAnthropicOverloaded(t *testing.T) {
	r := newEndpoint(t)
	r.server.opts.Store.(*engine.Engine).Close()
	code, got := r.request("POST", "/v1/messages", `{"model":"tiny","max_tokens":4,`+question+`}`,
		map[string]string{"x-api-key": "tml-a"})
	if code != 529 || !strings.Contains(got, "overloaded_error") {
		t.Errorf("%d %s", code, got)
	}
}

// The same tokens and logprob bits over chats, messages and generations of a checkpoint, under all names that it has.
func TestEveryInterfaceSamplesACheckpoint(t *testing.T) {
	r := newEndpoint(t)
	r.key = "tml-owner"
	m := r.model(r.session(), 0)
	r.post("/forward_backward", batch(m, 1, false), nil)
	r.post("/optim_step", step(m, 2), nil)
	r.result(r.promise("/save_weights_for_sampler", map[string]any{"model_id": m, "path": "one", "seq_id": 3}))
	path := "tinker://" + m + "/sampler_weights/one"
	key := map[string]string{"x-api-key": "tml-owner"}
	const same = `"max_tokens":24,"seed":11,"temperature":1.2,"top_p":0.9`
	const asked = same + `,"return_token_ids":true,"logprobs":true,` + question
	seen := map[string]bool{}
	for _, name := range []string{path, "tiny;" + path, "small;" + path, "tiny"} {
		_, chat := r.openai("POST", "/oai/api/v1/chat/completions", fmt.Sprintf(`{"model":%q,%s}`, name, asked))
		if chat.Error != nil {
			t.Fatalf("%s: %+v", name, chat.Error)
		}
		ids, bits := chat.Choices[0].TokenIDs, chat.bitsOf(0)
		seen[fmt.Sprint(bits)] = true
		prompt, _ := json.Marshal(chat.PromptIDs)
		generation := fmt.Sprintf(`{"model":%q,"token_ids":%s,"sampling_params":{%s,"logprobs":0}}`, name, prompt, same)
		_, root := r.openai("POST", "/inference/v1/generate", generation)
		_, hosted := r.openai("POST", "/oai/api/inference/v1/generate", generation)
		for route, got := range map[string]openaiAnswer{"root": root, "hosted": hosted} {
			if got.Error != nil || !slices.Equal(got.Choices[0].TokenIDs, ids) || !slices.Equal(got.bitsOf(0), bits) {
				t.Errorf("%s: generate at the %s: %+v, want %v %v", name, route, got, ids, bits)
			}
		}
		_, raw := r.request("POST", "/anthropic/api/v1/messages", fmt.Sprintf(`{"model":%q,%s}`, name, asked), key)
		var got struct {
			TokenIDs []int32 `json:"token_ids"`
			Logprobs struct {
				Content []struct{ Logprob float32 }
			}
		}
		if err := json.Unmarshal([]byte(raw), &got); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		var own []float32
		for _, x := range got.Logprobs.Content {
			own = append(own, x.Logprob)
		}
		if !slices.Equal(got.TokenIDs, ids) || !slices.Equal(own, bits) {
			t.Errorf("%s: message %s, want %v %v", name, raw, ids, bits)
		}
		tokens := fmt.Sprintf(`{"model":%q,%s}`, name, question)
		_, counted := r.request("POST", "/v1/messages/count_tokens", tokens, key)
		_, tokenized := r.request("POST", "/tokenize", tokens, key)
		if counted != fmt.Sprintf(`{"input_tokens":%d}`, len(chat.PromptIDs)) ||
			!strings.Contains(tokenized, `"tokens":`+string(prompt)) {
			t.Errorf("%s: counted %s, tokenized %s, want %s", name, counted, tokenized, prompt)
		}
		code, _ := r.request("POST", "/tokenize", tokens, map[string]string{"x-api-key": "tml-other"})
		if (code == 404) != strings.Contains(name, path) {
			t.Errorf("%s of another tenant: %d", name, code)
		}
	}
	if len(seen) != 2 {
		t.Errorf("the base model and its checkpoint gave %d different answers", len(seen))
	}
}

// Clients find the token routes at the root and under the prefixes; without a model's name both names of the one base
// model are the same.
func TestTokenRoutes(t *testing.T) {
	r := newEndpoint(t)
	key := map[string]string{"Authorization": "Bearer tml-a"}
	for _, prefix := range []string{"", "/v1", "/oai/api", "/oai/api/v1"} {
		for _, c := range []struct{ method, path, body, text string }{
			{"POST", "/tokenize", `{"prompt":"12 + 30"}`, `"count":`},
			{"POST", "/detokenize", `{"model":"small","tokens":[5,6]}`, `{"prompt":"`},
			{"GET", "/tokenizer_info", "", `"eos_token":"\u003c|im_end|\u003e"`},
			{"GET", "/tokenizer_info?model=" + url.QueryEscape("small"), "", `"tokenizer_class"`},
		} {
			code, got := r.request(c.method, prefix+c.path, c.body, key)
			if code != http.StatusOK || !strings.Contains(got, c.text) {
				t.Errorf("%s%s: %d %s, want %s", prefix, c.path, code, got, c.text)
			}
		}
	}
	r.server.edge.Access.Keys = keyList{HashKey("tml-a")}
	for _, c := range []struct{ method, path string }{{"GET", "/tokenizer_info"}, {"POST", "/tokenize"},
		{"POST", "/inference/v1/generate"}} {
		code, got := r.request(c.method, c.path, "{}", nil)
		if code != 401 || !strings.Contains(got, "invalid_api_key") {
			t.Errorf("%s without a key: %d %s", c.path, code, got)
		}
	}
	if code, got := r.request("GET", "/tokenizer_info?model=absent", "", key); code != http.StatusNotFound {
		t.Errorf("an absent model: %d %s", code, got)
	}
}

// The list of models has the form of the client that asks: at /v1 the header tells, elsewhere the path.
func TestModelsInTheFormOfTheClient(t *testing.T) {
	r := newEndpoint(t)
	header := map[string]string{"x-api-key": "tml-alice", "anthropic-version": "2023-06-01"}
	plain := map[string]string{"x-api-key": "tml-alice"}
	for _, c := range []struct {
		path    string
		headers map[string]string
		code    int
		text    string
	}{
		{"/v1/models", plain, 200, `"object":"list"`},
		{"/v1/models", header, 200, `"first_id":"tiny","has_more":false,"last_id":"small"}`},
		{"/v1/models?limit=1", header, 200, `"first_id":"tiny","has_more":true,"last_id":"tiny"}`},
		{"/oai/api/v1/models", header, 200, `"object":"list"`},
		{"/anthropic/api/v1/models", plain, 200, `"first_id":"tiny","has_more":false,"last_id":"small"}`},
		{"/v1/models/tiny", plain, 200, `"object":"model"`},
		{"/v1/models/tiny", header, 200, `"display_name":"tiny","id":"tiny","type":"model"}`},
		{"/anthropic/api/v1/models/small", plain, 200, `"display_name":"small","id":"small","type":"model"}`},
		{"/v1/models/absent", plain, 404, `"type":"invalid_request_error"`},
		{"/v1/models/absent", header, 404, `"type":"not_found_error"},"type":"error"}`},
		{"/anthropic/api/v1/models/absent", plain, 404, `"type":"not_found_error"},"type":"error"}`},
		{"/anthropic/api/v1/models?limit=0", plain, 400, `"type":"invalid_request_error"},"type":"error"}`},
	} {
		if code, raw := r.request("GET", c.path, "", c.headers); code != c.code || !strings.Contains(raw, c.text) {
			t.Errorf("%s %v: %d %s, want %d %s", c.path, c.headers, code, raw, c.code, c.text)
		}
	}
}
