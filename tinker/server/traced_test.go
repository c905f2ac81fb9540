package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// tracesOf are the recorded calls of a session.
func tracesOf(r *rig, id string) (list []endpoint.Trace) {
	r.t.Helper()
	code, _, raw := r.send("GET", "/sessions/"+id+"/traces", nil)
	if code != http.StatusOK {
		r.t.Fatalf("traces of %s: %d %s", id, code, raw)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		r.t.Fatal(err)
	}
	return list
}

// Calls of a session are recorded with the ids and the bits that the caller gets, over every interface, whole and
// streamed, whether the session is in the URL or in the header. The answers are those of calls without a session.
func TestSessionsAreRecorded(t *testing.T) {
	r := newEndpoint(t)
	const chat = `"model":"small","messages":[{"role":"user","content":"Hi"}],"max_tokens":4,"seed":1`
	const more = `,"return_token_ids":true,"logprobs":true,"ignore_eos":true`
	var plain struct {
		Choices []struct {
			IDs      []int32 `json:"token_ids"`
			Logprobs struct{ Content []struct{ Logprob float32 } }
		}
		Prompt []int32 `json:"prompt_token_ids"`
	}
	code, _, raw := r.send("POST", "/v1/chat/completions", rawJSON("{"+chat+more+"}"))
	if err := json.Unmarshal(raw, &plain); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s %v", code, raw, err)
	}
	for _, call := range []struct{ path, body, header string }{
		{"/sessions/one/v1/chat/completions", chat + more, ""},
		{"/sessions/one/v1/chat/completions", chat + more + `,"stream":true`, ""},
		{"/rollouts/one/v1/chat/completions", chat + more, ""},
		{"/v1/chat/completions", chat + more, "one"},
		{"/sessions/one/v1/messages", chat + `,"return_token_ids":true`, ""},
	} {
		code, _, raw := r.send("POST", call.path, rawJSON("{"+call.body+"}"), "X-Session-ID", call.header)
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", call.path, code, raw)
		}
	}
	list := tracesOf(r, "one")
	if len(list) != 5 {
		t.Fatalf("%d calls are recorded, want 5", len(list))
	}
	want := plain.Choices[0]
	for i, got := range list {
		if !slices.Equal(got.PromptIDs, plain.Prompt) || got.Session != "one" || got.Model != "small" ||
			!strings.Contains(string(got.Messages), `"Hi"`) || got.Counts["completion"] != len(got.IDs) {
			t.Errorf("call %d: %+v", i, got)
		}
		if i == 4 { // it may end earlier
			continue
		}
		if !slices.Equal(got.IDs, want.IDs) {
			t.Errorf("call %d: tokens %v, want %v", i, got.IDs, want.IDs)
		}
		for j, p := range want.Logprobs.Content {
			if got.Logprobs[j] != p.Logprob {
				t.Errorf("call %d: logprob %d is %v, want %v", i, j, got.Logprobs[j], p.Logprob)
			}
		}
	}
	code, _, raw = r.send("DELETE", "/sessions/one", nil)
	if code != http.StatusOK || !strings.Contains(string(raw), `"deleted":5`) {
		t.Errorf("delete: %d %s", code, raw)
	}
	if code, _, raw = r.send("GET", "/sessions/one/traces", nil); code != http.StatusNotFound {
		t.Errorf("after delete: %d %s", code, raw)
	}
	long := strings.Repeat("x", 300)
	code, _, raw = r.send("POST", "/v1/chat/completions", rawJSON("{"+chat+"}"), "X-Session-ID", long)
	if code != http.StatusBadRequest || !strings.Contains(string(raw), "300 bytes") {
		t.Errorf("a long id: %d %s", code, raw)
	}
}
