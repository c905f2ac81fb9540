package proxy

import (
	"encoding/json"
	"net/http"
)

// trace is a call as rLLM's model gateway shows it.
type trace struct {
	ID        string          `json:"trace_id"`
	Session   string          `json:"session_id"`
	Model     string          `json:"model"`
	Messages  json.RawMessage `json:"messages"`
	PromptIDs []int32         `json:"prompt_token_ids"`
	Message   json.RawMessage `json:"response_message"`
	IDs       []int32         `json:"completion_token_ids"`
	Logprobs  []float32       `json:"logprobs"`
	Finish    string          `json:"finish_reason"`
	Version   int             `json:"weight_version"`
	Latency   float64         `json:"latency_ms"`
	Counts    map[string]int  `json:"token_counts"`
	Time      float64         `json:"timestamp"` // seconds since 1970
}

func (d *door) traceOf(session string, c *call) trace {
	messages := c.messages
	if messages == nil { // a completion
		messages = json.RawMessage("[]")
	}
	return trace{ID: c.id, Session: session, Model: d.name, Messages: messages, PromptIDs: c.prompt, Message: c.message,
		IDs: c.sampled, Logprobs: c.logprobs, Finish: string(c.stop), Version: c.version,
		Latency: float64(c.took.Microseconds()) / 1e3,
		Counts:  map[string]int{"prompt": len(c.prompt), "completion": len(c.sampled)},
		Time:    float64(c.begun.UnixMicro()) / 1e6}
}

// traces lists the calls of an open rollout.
func (d *door) traces(w http.ResponseWriter, r *http.Request, id string) {
	one, err := d.calls.find(r.Context(), id, false)
	if err != nil {
		d.fail(w, err)
		return
	}
	reply(w, http.StatusOK, d.list(nil, one))
}

func (d *door) list(list []trace, one *rollout) []trace {
	if list == nil {
		list = []trace{}
	}
	for _, c := range one.calls() {
		list = append(list, d.traceOf(one.id, c))
	}
	return list
}

// query lists the calls of several rollouts; those that are not open have none.
func (d *door) query(w http.ResponseWriter, r *http.Request) {
	var in struct {
		IDs []string `json:"session_ids"`
	}
	if err := read(w, r, &in); err != nil {
		d.fail(w, err)
		return
	}
	list := []trace{}
	for _, id := range in.IDs {
		if one, err := d.calls.find(r.Context(), id, false); err == nil {
			list = d.list(list, one)
		}
	}
	reply(w, http.StatusOK, list)
}

// create opens a session before its first call.
func (d *door) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID       string          `json:"session_id"`
		Metadata json.RawMessage `json:"metadata"` // not used
	}
	if err := readIfAny(w, r, &in); err != nil {
		d.fail(w, err)
		return
	}
	if in.ID == "" {
		in.ID = "session-" + random(12)
	}
	if _, err := d.calls.find(r.Context(), in.ID, true); err != nil {
		d.fail(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"session_id": in.ID, "url": urlOf(r, "sessions", in.ID)})
}

// drop gives a rollout up: it has no reward, and is not trained.
func (d *door) drop(w http.ResponseWriter, r *http.Request, id string) {
	one, err := d.calls.find(r.Context(), id, false)
	if err != nil {
		d.fail(w, err)
		return
	}
	n := len(one.calls())
	if d.calls.begin != nil {
		d.calls.remove(one, nil)
	} else {
		d.calls.remove(one, problem(http.StatusNotFound, "rollout_not_found", "rollout %q is not open any more: its "+
			"program gave it up", id))
	}
	reply(w, http.StatusOK, map[string]any{"session_id": id, "deleted": n})
}
