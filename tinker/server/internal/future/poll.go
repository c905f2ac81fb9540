package future

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Options of newer SDKs: one call retrieves all samples of a session (sample_use_retrieve_futures), and copies of a
// client are numbered (sample_join_sampling_session). Both are served to clients that use them.

// Clones separates the sequence numbers of a session's copies: copy n has n·10⁹ and up.
const Clones = 1_000_000_000

type retrieveManyRequest struct {
	Target struct {
		Type              string `json:"type"`
		SamplingSessionID string `json:"sampling_session_id"`
		ClonedSamplerID   int64  `json:"cloned_sampler_id"`
	} `json:"target"`
	PrevCursor int64    `json:"prev_cursor"`
	Timeout    *float64 `json:"timeout" null:"ok"` // seconds
}

type Completion struct {
	State     string `json:"state"` // finished or failed
	RequestID string `json:"request_id"`
	Size      *int   `json:"response_payload_uncompressed_size,omitempty"`
}

// RetrieveMany lists the samples of a session that ended after the cursor. It waits for the first one.
func (s *Futures) RetrieveMany(c *edge.Call, req retrieveManyRequest) (any, error) {
	hold := s.Hold
	if req.Timeout != nil && *req.Timeout >= 0 && *req.Timeout < hold.Seconds() {
		hold = time.Duration(*req.Timeout * float64(time.Second))
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	leave, err := s.Capacity.Listen(c.Tenant)
	if err != nil {
		return nil, edge.Busy(c, err.Error())
	}
	defer leave()
	for {
		s.State.Lock()
		p, err := s.State.OwnSampler(c.Tenant, req.Target.SamplingSessionID)
		if err != nil {
			s.State.Unlock()
			return nil, err
		}
		done, cursor := s.Samplers.Ended(p, req.Target.ClonedSamplerID, req.PrevCursor)
		changed := p.Changed()
		s.State.Unlock()
		if len(done) > 0 {
			return map[string]any{"completions": done, "cursor": cursor}, nil
		}
		select {
		case <-changed:
			continue
		case <-timer.C:
		case <-s.Life.Ctx.Done():
		case <-c.Ctx.Done():
			return nil, context.Cause(c.Ctx)
		}
		return map[string]any{"completions": []Completion{}, "cursor": req.PrevCursor}, nil
	}
}

// CancelFuture cancels a sample that its client no longer waits for.
func (s *Futures) CancelFuture(c *edge.Call, req wire.RetrieveRequest) (any, error) {
	kind, id, seq, ok := s.Tickets.Parse(req.RequestID)
	if !ok || kind != ticket.Sample {
		return nil, ErrUnknownFuture
	}
	s.State.Lock()
	defer s.State.Unlock()
	if _, err := s.State.OwnSampler(c.Tenant, id); err != nil {
		return nil, ErrUnknownFuture
	}
	if p := s.State.Samples[state.SampleKey{Sampler: id, Seq: seq}]; p != nil && p.Cancel != nil {
		p.Cancel()
	}
	return map[string]string{"status": "ok"}, nil
}
