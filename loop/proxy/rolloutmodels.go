package proxy

import (
	"cmp"
	"context"
	"math"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// rolloutModels is the model for the calls of one rollout, by any name if the rollout does not limit them. It
// implements endpoint.Models.
type rolloutModels struct {
	*handler
	id      string
	session string   // the header of the request
	at      *rollout // once Open found it
}

// Open implements endpoint.Models.
func (m *rolloutModels) Open(ctx context.Context, _, name string) (*endpoint.Model, error) {
	r, err := m.calls.find(ctx, m.id, true)
	if err != nil {
		return nil, err
	}
	m.at = r
	if err := r.knows(name); err != nil {
		return nil, err
	}
	sampler, version, err := r.sampling()
	if err != nil {
		return nil, err
	}
	if err := r.over(); err != nil {
		return nil, err
	}
	k := &taker{rollout: r, session: m.session, version: version, text: m.text, now: m.now, begun: m.now(),
		grow: m.calls.grow}
	if r.player != nil {
		sampler = played{r.player, k}
	}
	return &endpoint.Model{Text: m.text, Context: cmp.Or(r.context, math.MaxInt32), Sampler: whileOpen{sampler, r},
		Close: func() {}, Name: m.name, Keeper: k}, nil
}

// ended makes the end of the rollout the reason for an error of one of its calls.
func (m *rolloutModels) ended(h endpoint.Answerer) endpoint.Answerer {
	return func(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error {
		err := h(ctx, w, tenant, body)
		if err != nil && m.at != nil {
			err = cmp.Or(m.at.over(), err)
		}
		return err
	}
}

// List implements endpoint.Models.
func (m *rolloutModels) List(context.Context, string) ([]endpoint.Card, error) {
	return []endpoint.Card{{ID: m.name, Context: m.calls.context(m.id), Kind: "base"}}, nil
}

// whileOpen samples until the rollout is over. It implements tinker.Streamer.
type whileOpen struct {
	tinker.SamplingClient
	rollout *rollout
}

// Sample implements tinker.SamplingClient.
func (s whileOpen) Sample(
	ctx context.Context, req tinker.SampleRequest,
) (*tinker.Future[tinker.SampleResponse], error) {
	ctx, end := s.until(ctx)
	f, err := s.SamplingClient.Sample(ctx, req)
	if err != nil {
		end()
		return nil, err
	}
	go func() { <-f.Done(); end() }()
	return f, nil
}

// Stream implements tinker.Streamer.
func (s whileOpen) Stream(ctx context.Context, req tinker.SampleRequest) (*tinker.Stream, error) {
	ctx, end := s.until(ctx)
	stream, err := tinker.OpenStream(ctx, s.SamplingClient, req)
	if err != nil {
		end()
		return nil, err
	}
	go func() { <-stream.Result().Done(); end() }()
	return stream, nil
}

// until returns a context that also ends with the rollout.
func (s whileOpen) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.rollout.ctx, func() { cancel(s.rollout.over()) })
	return ctx, func() { stop(); cancel(nil) }
}
