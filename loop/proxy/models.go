package proxy

import (
	"cmp"
	"context"
	"math"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// newest is the model with its newest weights, whatever name a request has. It implements endpoint.Models.
type newest struct{ *Server }

// Open implements endpoint.Models.
func (s newest) Open(context.Context, string, string) (*endpoint.Model, error) {
	s.asked.Add(1)
	sampler, version, err := s.sampling()
	if err != nil {
		return nil, err
	}
	return s.model(sampler, &keeper{server: s.Server, version: version, given: s.Params}), nil
}

// List implements endpoint.Models.
func (s newest) List(context.Context, string) ([]endpoint.Card, error) {
	return []endpoint.Card{{ID: s.Name, Context: s.Context, Kind: "base"}}, nil
}

// sampling returns the newest weights.
func (s *Server) sampling() (tinker.SamplingClient, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sampler == nil {
		return nil, 0, &endpoint.Error{Status: http.StatusServiceUnavailable, Type: serverError, Code: "not_ready",
			Message: "the model is not loaded yet; try again"}
	}
	return s.sampler, s.version, nil
}

// model is the model for one request.
func (s *Server) model(sampler tinker.SamplingClient, k endpoint.Keeper) *endpoint.Model {
	most := s.Context
	most = cmp.Or(most, math.MaxInt32)
	return &endpoint.Model{Text: s.Text, Context: most, Sampler: sampler, Close: func() {}, Name: s.Name, Keeper: k}
}
