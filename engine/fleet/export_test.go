package fleet

import "testing"

// StoredChunk is what the store has for a chunk; nil is nothing.
func StoredChunk(t *testing.T, h *Head, hash string, i int) []byte {
	t.Helper()
	data, err := stored(t.Context(), h.nc, h.names.Blobs(), h.names.Chunk(hash, i))
	if err != nil {
		return nil
	}
	return data
}

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
