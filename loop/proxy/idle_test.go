package proxy

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// A rollout without a reward is given up a day after its last call, when another one begins; its memory is counted
// back, and its id begins anew.
func TestIdleRolloutsAreGivenUp(t *testing.T) {
	now := time.Unix(0, 0)
	s := newRollouts(func() time.Time { return now })
	s.begin = func(_ context.Context, id string) (*rollout, error) { return newRollout(id), nil }
	find := func(id string) *rollout {
		r, err := s.find(t.Context(), id, true)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	left, busy := find("left"), find("busy")
	for _, r := range []*rollout{left, busy} {
		k := &taker{rollout: r, text: linewise(t), now: func() time.Time { return now }, begun: now, grow: s.grow}
		if err := k.Record(t.Context(), endpoint.Kept{ID: "answer-" + r.id,
			Sequences: []tinker.SampledSequence{{Tokens: []int32{1}, Logprobs: []float32{0}}},
			Message:   func(int) json.RawMessage { return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(23 * time.Hour)
	busy.tree.calls[0].took = 23 * time.Hour
	find("third")
	if left.over() != nil {
		t.Fatal("given up within a day")
	}
	now = now.Add(2 * time.Hour)
	find("fourth")
	if left.over() == nil || busy.over() != nil || len(s.open) != 3 || s.byAnswer["answer-left"] != nil {
		t.Errorf("%d are open; left behind: %v, busy: %v", len(s.open), left.over(), busy.over())
	}
	if again := find("left"); again == left || again.over() != nil {
		t.Error("the id does not begin anew")
	}
	if s.bytes != busy.bytes {
		t.Errorf("%d bytes are counted, want %d", s.bytes, busy.bytes)
	}
}
