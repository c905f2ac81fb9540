package client

import (
	"net/http"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Any answer to a poll is a result, an error or a reason to poll again; none panics.
func FuzzOutcome(f *testing.F) {
	for _, s := range []string{`{"metrics": {}}`, `{"type": "try_again"}`, `{"error": 1, "category": []}`, `[]`, `null`,
		`{"detail": [{"msg": {}}]}`, ``} {
		f.Add(200, wire.JSON, []byte(s))
		f.Add(408, wire.JSON, []byte(s))
		f.Add(422, "text/html", []byte(s))
	}
	f.Add(200, wire.Proto,
		wire.EncodeSample(tinker.SampleResponse{Sequences: []tinker.SampledSequence{{Tokens: []int32{1}}}}))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		c := &Client{Options: Options{}}
		for _, proto := range []bool{false, true} {
			h := heldRequest{of: &c.holds}
			raw, wait, err := c.outcome(promise{kind: "Sample", proto: proto},
				&apiResponse{status, http.Header{"Content-Type": {kind}}, body}, nil, &polling{}, &h)
			h.release()
			if raw != nil && err != nil || wait < 0 || raw != nil && status/100 != 2 {
				t.Errorf("status %d: %q, wait %v, error %v", status, raw, wait, err)
			}
			if err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
		}
		expiry(string(body))
	})
}
