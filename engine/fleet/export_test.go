package fleet

import "testing"

// DeleteStreams deletes everything that a head has in JetStream, as somebody with NATS's tools could.
func DeleteStreams(t *testing.T, h *Head) {
	t.Helper()
	for _, s := range h.streams() {
		if err := h.js.DeleteStream(t.Context(), s.Name); err != nil {
			t.Log(err)
		}
	}
	if err := h.js.DeleteKeyValue(t.Context(), h.names.Presence()); err != nil {
		t.Log(err)
	}
}
