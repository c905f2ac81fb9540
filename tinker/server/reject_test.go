package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Neither the answer, nor the server's log, nor its memory keeps the long text of a request that an error quotes.
func TestErrorsAreBrief(t *testing.T) {
	r := newRig(t, Options{})
	m, long := r.model(r.session(), 0), strings.Repeat("x", 1<<19)
	before := r.server.state.log.Size()
	save := map[string]any{"model_id": m, "seq_id": 1, "path": "=" + long} // the server itself refuses it
	load := map[string]any{"model_id": m, "seq_id": 2, "path": "tinker://" + m + "/weights/" + long}
	for path, body := range map[string]any{"/save_weights": save, "/load_weights": load} {
		text, category := r.failure(r.promise(path, body))
		if category != "user" || len(text) > 3<<10 || !strings.Contains(text, "xxx") {
			t.Errorf("%s: %d bytes, category %s: %.60s", path, len(text), category, text)
		}
	}
	if grown := r.server.state.log.Size() - before; grown > 16<<10 {
		t.Errorf("the log has %d bytes more", grown)
	}
	for key, k := range r.server.state.rejects {
		if len(k.Error) > 3<<10 {
			t.Errorf("%v: %d bytes are kept", key, len(k.Error))
		}
	}
}

// The latest rejected requests of a tenant are kept; another tenant's stay.
func TestRejectsAreBounded(t *testing.T) {
	s := newStore()
	for _, tenant := range []string{"a", "b"} {
		s.sessions[tenant] = &session{ID: tenant, Tenant: tenant}
		s.models[tenant] = newModel(modelRecord{ID: tenant, Session: tenant})
	}
	s.addReject(rejection{Model: "b", Seq: 1, Error: "theirs", Category: tinker.User})
	for i := range int64(maxRejects + 100) {
		for range 2 { // the second time it is the same
			s.addReject(rejection{Model: "a", Seq: i, Error: fmt.Sprint(i), Category: tinker.User})
		}
	}
	if len(s.rejects) != maxRejects+1 || len(s.byTenant["a"]) != maxRejects {
		t.Errorf("%d rejects are kept, %d of a", len(s.rejects), len(s.byTenant["a"]))
	}
	for _, c := range []struct {
		key  trainKey
		want string
	}{{trainKey{"b", 1}, "theirs"}, {trainKey{"a", 99}, ""}, {trainKey{"a", 100}, "100"}} {
		if got := s.rejects[c.key].Error; got != c.want {
			t.Errorf("%v: %q, want %q", c.key, got, c.want)
		}
	}
}
