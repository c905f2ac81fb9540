package proxy

import (
	"encoding/json"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

func (d *handler) traceOf(session string, c *call) endpoint.Trace {
	t := endpoint.Trace{ID: c.id, Session: session, Model: d.name, Messages: c.messages, PromptIDs: c.prompt,
		Message: c.message, IDs: c.sampled, Logprobs: c.logprobs, Finish: string(c.stop), Version: c.version}
	return t.Finished(c.begun, c.took)
}

// traces lists the calls of an open rollout.
func (d *handler) traces(w http.ResponseWriter, r *http.Request, id string) {
	one, err := d.calls.find(r.Context(), id, false)
	if err != nil {
		d.fail(w, err)
		return
	}
	reply(w, http.StatusOK, d.list(nil, one))
}

func (d *handler) list(list []endpoint.Trace, one *rollout) []endpoint.Trace {
	if list == nil {
		list = []endpoint.Trace{}
	}
	for _, c := range one.calls() {
		list = append(list, d.traceOf(one.id, c))
	}
	return list
}

// query lists the calls of several rollouts; those that are not open have none.
func (d *handler) query(w http.ResponseWriter, r *http.Request) {
	var in struct {
		IDs []string `json:"session_ids"`
	}
	if err := d.read(r, &in); err != nil {
		d.fail(w, err)
		return
	}
	list := []endpoint.Trace{}
	for _, id := range in.IDs {
		if one, err := d.calls.find(r.Context(), id, false); err == nil {
			list = d.list(list, one)
		}
	}
	reply(w, http.StatusOK, list)
}

// create opens a session before its first call.
func (d *handler) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		ID       string          `json:"session_id"`
		Metadata json.RawMessage `json:"metadata"` // not used
	}
	if err := d.readIfAny(r, &in); err != nil {
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
func (d *handler) drop(w http.ResponseWriter, r *http.Request, id string) {
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
