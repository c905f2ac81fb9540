package session

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The trace of a session is what the server knows when it is downloaded: training requests that were done since it
// started, the samples whose results it keeps, and checkpoints. It is in the JSON form of trace events
// (https://perfetto.dev/docs/getting-started/other-formats), which ui.perfetto.dev opens by any file name.

// traceFor is how long the address of a trace works.
const traceFor = time.Hour

// ExportTrace returns an address from which the trace of a session can be downloaded without a key.
func (s *Sessions) ExportTrace(c *edge.Call) (any, error) {
	s.State.Lock()
	defer s.State.Unlock()
	u, err := s.State.Session(c.Tenant, c.R.PathValue("id"))
	if err != nil {
		return nil, err
	}
	until := s.Life.Now().Add(traceFor).Unix()
	return wire.TraceExport{Status: "ready",
		URL: s.Edge.Origin(c.R) + wire.Prefix + "/traces/" + s.Tickets.Ticket(ticket.Trace, u.ID, until)}, nil
}

// Trace answers with the trace that a ticket names.
func (s *Sessions) Trace(w http.ResponseWriter, r *http.Request) {
	kind, id, until, ok := s.Tickets.Parse(r.PathValue("token"))
	if !ok || kind != ticket.Trace || s.Life.Now().Unix() > until {
		s.Edge.Fail(w, r, edge.Status(http.StatusForbidden, "this address is wrong or has expired; ask for a new one"))
		return
	}
	s.State.Lock()
	u := s.State.Sessions[id]
	s.State.Unlock()
	if u == nil {
		s.Edge.Fail(w, r, edge.Status(http.StatusNotFound, "session %s is no longer kept", id))
		return
	}
	list, err := s.Saved(r.Context(), u.Tenant, "", true)
	if err != nil {
		s.Edge.Fail(w, r, err)
		return
	}
	edge.Reply(w, http.StatusOK, s.trace(u, list))
}

// traceEvent is one trace event. Requests overlap, so each is a nestable asynchronous pair (b, e) with an id.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat"`
	Phase string         `json:"ph"`
	ID    string         `json:"id,omitempty"`
	Micro int64          `json:"ts"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Scope string         `json:"s,omitempty"` // of an instant
	Args  map[string]any `json:"args,omitempty"`
}

// trace is the trace of a session; list is its tenant's checkpoints.
func (s *Sessions) trace(u *state.Session, list []state.SavedCheckpoint) any {
	s.State.Lock()
	defer s.State.Unlock()
	var events []traceEvent
	span := func(cat, name, id string, begin, end time.Time, args map[string]any) {
		e := traceEvent{Name: name, Cat: cat, Phase: "b", ID: id, Micro: begin.UnixMicro(), PID: 1, TID: 1, Args: args}
		events = append(events, e)
		e.Phase, e.Micro, e.Args = "e", end.UnixMicro(), nil
		events = append(events, e)
	}
	for _, p := range u.Spans {
		span("training", p.Name, fmt.Sprintf("%s/%d", p.Model, p.Seq), p.Begin, p.End,
			map[string]any{"model_id": p.Model, "seq_id": p.Seq, "tokens": p.Tokens})
	}
	for key, p := range s.State.Samples {
		if w := s.State.Samplers[key.Sampler]; w != nil && w.Session == u.ID && !p.Finished.IsZero() {
			span("sampling", "sample", fmt.Sprintf("%s/%d", key.Sampler, key.Seq), p.Accepted, p.Finished,
				map[string]any{"sampler_id": key.Sampler, "seq_id": key.Seq, "samples": p.Samples})
		}
	}
	for _, k := range list {
		if m := s.State.Models[k.Path.ModelID]; m != nil && m.Session == u.ID {
			events = append(events, traceEvent{Name: "checkpoint", Cat: "checkpoint", Phase: "i", Scope: "p", PID: 1,
				TID: 1, Micro: k.Time.UnixMicro(),
				Args: map[string]any{"path": checkpoint.WireOf(k).TinkerPath, "bytes": k.Size}})
		}
	}
	slices.SortStableFunc(events, func(a, b traceEvent) int {
		return cmp.Or(cmp.Compare(a.Micro, b.Micro), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Phase, b.Phase))
	})
	named := traceEvent{Name: "process_name", Phase: "M", PID: 1, TID: 1,
		Args: map[string]any{"name": "session " + u.ID}}
	return map[string]any{"traceEvents": append([]traceEvent{named}, events...)}
}
