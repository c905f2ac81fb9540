package fleet

import "testing"

// StoredChunk is what the store has for a chunk; nil is nothing.
func StoredChunk(t *testing.T, h *Head, hash string, i int) []byte {
	t.Helper()
	data, err := stored(t.Context(), h.line.nc, h.line.names.Blobs(), h.line.names.Chunk(hash, i))
	if err != nil {
		return nil
	}
	return data
}

// DeleteStreams deletes everything that a head has in JetStream, as somebody with NATS's tools could.
func DeleteStreams(t *testing.T, h *Head) {
	t.Helper()
	for _, s := range h.line.streams() {
		if err := h.line.js.DeleteStream(t.Context(), s.Name); err != nil {
			t.Log(err)
		}
	}
	if err := h.line.js.DeleteKeyValue(t.Context(), h.line.names.Presence()); err != nil {
		t.Log(err)
	}
}
