package server

import (
	"strings"
	"testing"
)

// Neither the answer, nor the server's log, nor its memory keeps the long text of a request that an error quotes.
func TestErrorsAreBrief(t *testing.T) {
	r := newRig(t, Options{})
	m, long := r.model(r.session(), 0), strings.Repeat("x", 1<<19)
	before := r.server.state.Log.Size()
	save := map[string]any{"model_id": m, "seq_id": 1, "path": "=" + long} // the server itself refuses it
	load := map[string]any{"model_id": m, "seq_id": 2, "path": "tinker://" + m + "/weights/" + long}
	for path, body := range map[string]any{"/save_weights": save, "/load_weights": load} {
		text, category := r.failure(r.promise(path, body))
		if category != "user" || len(text) > 3<<10 || !strings.Contains(text, "xxx") {
			t.Errorf("%s: %d bytes, category %s: %.60s", path, len(text), category, text)
		}
	}
	if grown := r.server.state.Log.Size() - before; grown > 16<<10 {
		t.Errorf("the log has %d bytes more", grown)
	}
	for key, k := range r.server.state.Rejects {
		if len(k.Error) > 3<<10 {
			t.Errorf("%v: %d bytes are kept", key, len(k.Error))
		}
	}
}
