package server

import (
	"context"
	"time"
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
func (s *Server) retrieveMany(c *call, req retrieveManyRequest) (any, error) {
	hold := s.opts.Hold
	if req.Timeout != nil && *req.Timeout >= 0 && *req.Timeout < hold.Seconds() {
		hold = time.Duration(*req.Timeout * float64(time.Second))
	}
	timer := time.NewTimer(hold)
	defer timer.Stop()
	leave, err := s.listen(c)
	if err != nil {
		return nil, err
	}
	defer leave()
	for {
		s.mu.Lock()
		p, err := s.state.ownSampler(c.tenant, req.Target.SamplingSessionID)
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
		done, cursor := s.completions(p, req)
		changed := p.changed()
		s.mu.Unlock()
		if len(done) > 0 {
			return map[string]any{"completions": done, "cursor": cursor}, nil
		}
		select {
		case <-changed:
			continue
		case <-timer.C:
		case <-s.ctx.Done():
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		}
		return map[string]any{"completions": []completion{}, "cursor": req.PrevCursor}, nil
	}
}

// completions lists what ended after the cursor, the number of an end. s.mu is held.
func (s *Server) completions(p *sampler, req retrieveManyRequest) (done []completion, cursor int64) {
	cursor = req.PrevCursor
	for key, q := range s.state.samples {
		if key.sampler != p.ID || key.seq/clones != req.Target.ClonedSamplerID || q.finished.IsZero() ||
			q.result.Order <= req.PrevCursor {
			continue
		}
		d := completion{State: "finished", RequestID: s.token(tokenSample, key.sampler, key.seq)}
		if n := len(q.result.Proto); n > 0 {
			d.Size = &n
		}
		if q.result.Error != "" {
			d.State = "failed"
		}
		done, cursor = append(done, d), max(cursor, q.result.Order)
	}
	return done, cursor
}

// changed is closed when the next sample of the sampler ends. s.mu is held.
func (p *sampler) changed() <-chan struct{} {
	if p.end == nil {
		p.end = make(chan struct{})
	}
	return p.end
}

// ended numbers the end of a sample, unless an earlier process has, and wakes the calls that wait for it. s.mu is held.
func (p *sampler) ended(q *sample) {
	if q.result.Order == 0 {
		q.result.Order = p.ends + 1
	}
	p.ends = max(p.ends, q.result.Order)
	if p.end != nil {
		close(p.end)
		p.end = nil
	}
}

type joinRequest struct {
	SamplingSessionID string `json:"sampling_session_id"`
}

// joinSampler numbers a copy of a sampling client; the original is 0.
func (s *Server) joinSampler(c *call, req joinRequest) (any, error) {
	var n int64
	err := s.change(func(t *serverState) (int64, error) {
		p, err := t.ownSampler(c.tenant, req.SamplingSessionID)
		if err != nil {
			return 0, err
		}
		p.Copies++
		n = p.Copies
		return s.record(recSampler, p)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"type": "join_sampling_session", "client_counter": n}, nil
}
