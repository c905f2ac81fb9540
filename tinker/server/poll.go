package server

import (
	"context"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Options of newer SDKs: one call retrieves all samples of a session (sample_use_retrieve_futures), and copies of a
// client are numbered (sample_join_sampling_session). Both are served to clients that use them.

// clones separates the sequence numbers of a session's copies: copy n has n·10⁹ and up.
const clones = 1_000_000_000

type retrieveManyRequest struct {
	Target struct {
		Type              string `json:"type"`
		SamplingSessionID string `json:"sampling_session_id"`
		ClonedSamplerID   int64  `json:"cloned_sampler_id"`
	} `json:"target"`
	PrevCursor int64    `json:"prev_cursor"`
	Timeout    *float64 `json:"timeout" null:"ok"` // seconds
}

type completion struct {
	State     string `json:"state"` // finished or failed
	RequestID string `json:"request_id"`
	Size      *int   `json:"response_payload_uncompressed_size,omitempty"`
}

// retrieveMany lists the samples of a session that ended after the cursor. It waits for the first one.
func (s *futures) retrieveMany(c *call, req retrieveManyRequest) (any, error) {
	hold := s.hold
	if req.Timeout != nil && *req.Timeout >= 0 && *req.Timeout < hold.Seconds() {
		hold = time.Duration(*req.Timeout * float64(time.Second))
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	leave, err := s.capacity.listen(c.tenant)
	if err != nil {
		return nil, busy(c, err.Error())
	}
	defer leave()
	for {
		s.state.Lock()
		p, err := s.state.ownSampler(c.tenant, req.Target.SamplingSessionID)
		if err != nil {
			s.state.Unlock()
			return nil, err
		}
		done, cursor := s.samplers.Ended(p, req.Target.ClonedSamplerID, req.PrevCursor)
		changed := p.changed()
		s.state.Unlock()
		if len(done) > 0 {
			return map[string]any{"completions": done, "cursor": cursor}, nil
		}
		select {
		case <-changed:
			continue
		case <-timer.C:
		case <-s.life.ctx.Done():
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		}
		return map[string]any{"completions": []completion{}, "cursor": req.PrevCursor}, nil
	}
}

// cancelFuture cancels a sample that its client no longer waits for.
func (s *futures) cancelFuture(c *call, req wire.RetrieveRequest) (any, error) {
	kind, id, seq, ok := s.tickets.parse(req.RequestID)
	if !ok || kind != ticketSample {
		return nil, errUnknownFuture
	}
	s.state.Lock()
	defer s.state.Unlock()
	if _, err := s.state.ownSampler(c.tenant, id); err != nil {
		return nil, errUnknownFuture
	}
	if p := s.state.samples[sampleKey{id, seq}]; p != nil && p.cancel != nil {
		p.cancel()
	}
	return map[string]string{"status": "ok"}, nil
}
