package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// resends limits how often a sample is requested again after the server reports it as unknown.
const resends = 5

// open creates the server's sampler.
func (s *samplingClient) open(ctx context.Context) error {
	c := s.client
	own, err := c.session(ctx, "")
	if err != nil {
		return err
	}
	var out wire.CreateSamplingSessionResponse
	err = c.inSession(ctx, &own, func() error {
		r, err := post("/create_sampling_session", wire.CreateSamplingSessionRequest{SessionID: own.id,
			SamplingSessionSeqID: own.next(&own.frozen),
			BaseModel:            s.of.BaseModel, ModelPath: s.of.ModelPath, Type: "create_sampling_session"})
		if err != nil {
			return err
		}
		r.window = 0
		return c.into(ctx, r, &out)
	})
	if err != nil {
		return err
	}
	if out.SamplingSessionID == "" {
		return serverf("client: %s created a sampler without an id", c.base)
	}
	s.mu.Lock()
	s.id = out.SamplingSessionID
	s.mu.Unlock()
	return nil
}

func (s *samplingClient) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// reopen creates the server's sampler again when the server has lost the one with the given id, unless another request
// has done so.
func (s *samplingClient) reopen(ctx context.Context, id string) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.current() != id {
		return nil
	}
	return s.open(ctx)
}

// send submits a sample, and once more to a new sampler when the server has lost this one.
func (s *samplingClient) send(ctx context.Context, body wire.SampleRequest, size int64) (promise, error) {
	body.SamplingSessionID = s.current()
	p, err := s.ask(ctx, body, size)
	if noSession(err) {
		if err = s.reopen(ctx, body.SamplingSessionID); err != nil {
			return p, err
		}
		body.SamplingSessionID = s.current()
		p, err = s.ask(ctx, body, size)
	}
	p.sampler = body.SamplingSessionID
	return p, err
}

// lostSample reports whether the server no longer knows an accepted sample, or its sampler.
func lostSample(err error) bool {
	var status *StatusError
	return errors.Is(err, errLost) || errors.As(err, &status) && status.Status == http.StatusNotFound &&
		!goneModel.MatchString(status.Detail)
}

// revive prepares the n-th repetition of a sample that was lost with err.
func (s *samplingClient) revive(ctx context.Context, p promise, err error, n int) error {
	if err := pause.For(ctx, delay(nil, n)); err != nil {
		return err
	}
	if noSession(err) {
		return s.reopen(ctx, p.sampler)
	}
	return nil
}

// lost turns the error of a sample into tinker.ErrLost if its weights are gone.
func (s *samplingClient) lost(err error) error {
	var status *StatusError
	if s.of.ModelPath == "" || !errors.As(err, &status) ||
		status.Status != http.StatusNotFound && !goneModel.MatchString(status.Detail) {
		return err
	}
	return serverf("client: %s can no longer sample from %s (%w): %w", s.client.base, s.of.ModelPath, tinker.ErrLost,
		err)
}
