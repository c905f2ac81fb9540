package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Searches find a tenant's sessions by every property, newest first, page by page, also after a restart.
func TestSearchSessions(t *testing.T) {
	r := newRig(t, Options{})
	begin := func(name, project, color string) string {
		var s wire.CreateSessionResponse
		r.clock.Add(int64(time.Second))
		r.post("/create_session", map[string]any{"tags": []string{}, "sdk_version": "0.38.0", "display_name": name,
			"project_id": project, "user_metadata": map[string]any{"color": color}}, &s)
		return s.SessionID
	}
	a, b, c := begin("Nightly run 7", "", "red"), begin("nightly eval", "p1", "red"), begin("other", "p1", "blue")
	r.model(b, 0)
	r.post("/sessions/"+c+"/finish", map[string]any{"reason": map[string]any{"type": "errored"}}, nil)
	if code, _, raw := r.send("PUT", wire.Prefix+"/sessions/"+c+"/project", map[string]any{"project_id": "p2"}); code !=
		http.StatusOK {
		t.Errorf("%d %s", code, raw)
	}
	owner := func(kind string, urns ...string) map[string]any {
		return map[string]any{"type": kind, "owner_urns": urns}
	}
	status := func(kind string, reasons ...string) []any {
		return []any{map[string]any{"type": kind, "reasons": reasons}}
	}
	for range 2 {
		for _, s := range []struct {
			body map[string]any
			want []string
		}{
			{map[string]any{}, []string{c, b, a}},
			{map[string]any{"owner": owner("accessible"), "limit": 2}, []string{c, b}},
			{map[string]any{"owner": owner("user", "urn:somebody")}, nil},
			{map[string]any{"session_id": a}, []string{a}},
			{map[string]any{"session_id": a, "display_name": "EVAL nightly"}, []string{b, a}},
			{map[string]any{"display_name": "nightly"}, []string{b, a}},
			{map[string]any{"user_metadata": map[string]any{"color": "red"}}, []string{b, a}},
			{map[string]any{"project_ids": []string{"default", "p2"}}, []string{c, a}},
			{map[string]any{"statuses": status("active")}, []string{b, a}},
			{map[string]any{"statuses": status("client_finished", "errored")}, []string{c}},
			{map[string]any{"statuses": status("client_finished", "success")}, nil},
			{map[string]any{"statuses": status("failed")}, nil},
		} {
			var page wire.SessionPage
			r.post("/sessions/search", s.body, &page)
			var got []string
			for _, one := range page.Sessions {
				got = append(got, one.SessionID)
			}
			if !slices.Equal(got, s.want) {
				t.Errorf("%v finds %v, want %v", s.body, got, s.want)
			}
		}
		var page wire.SessionPage
		var walked []string
		for body := map[string]any{"limit": 1}; ; body["cursor"] = page.NextCursor {
			page = wire.SessionPage{}
			r.post("/sessions/search", body, &page)
			for _, one := range page.Sessions {
				walked = append(walked, one.SessionID)
			}
			if page.NextCursor == nil {
				break
			}
		}
		if !slices.Equal(walked, []string{c, b, a}) {
			t.Errorf("the pages have %v", walked)
		}
		r.restart()
	}
	for _, bad := range []map[string]any{{"limit": 0}, {"limit": 201}, {"owner": owner("all")},
		{"statuses": status("x")}} {
		if code, _, raw := r.send("POST", wire.Prefix+"/sessions/search", bad); code != http.StatusBadRequest {
			t.Errorf("%v: %d %s", bad, code, raw)
		}
	}
}

// A trace has the session's training requests, samples and checkpoints, each with its begin before its end.
func TestTrace(t *testing.T) {
	r := newEndpoint(t)
	o := newOwned(r)
	r.fetch(o.trained)
	r.samples(o.drawn)
	var export wire.TraceExport
	r.get("/sessions/"+o.session+"/trace_export", &export)
	at, err := url.Parse(export.URL)
	if err != nil || export.Status != "ready" {
		t.Fatal(export, err)
	}
	eventually(t, func() string {
		code, _, raw := r.as("").send("GET", at.Path, nil)
		if code != http.StatusOK {
			return string(raw)
		}
		var trace struct {
			TraceEvents []struct {
				Name, Ph, ID string
				TS           int64
			}
		}
		if err := json.Unmarshal(raw, &trace); err != nil {
			return err.Error()
		}
		begun, seen := map[string]int64{}, []string{}
		for _, e := range trace.TraceEvents {
			switch e.Ph {
			case "b":
				begun[e.ID] = e.TS
			case "e":
				if from, ok := begun[e.ID]; !ok || from > e.TS {
					return "an end before its begin: " + string(raw)
				}
			}
			seen = append(seen, e.Name)
		}
		for _, name := range []string{"forward_backward", "save", "sample", "checkpoint"} {
			if !slices.Contains(seen, name) {
				return name + " is not in " + strings.Join(seen, " ")
			}
		}
		return ""
	})
}
