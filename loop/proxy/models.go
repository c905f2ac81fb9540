package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/openai"
)

// newest is the model with its newest weights, whatever name a request has. It implements openai.Models.
type newest struct{ *Server }

// Open implements openai.Models.
func (s newest) Open(context.Context, string, string) (*openai.Model, error) {
	s.asked.Add(1)
	sampler, version, err := s.sampling()
	if err != nil {
		return nil, err
	}
	return s.model(sampler, &keeper{server: s.Server, version: version, given: s.Params}), nil
}

// List implements openai.Models.
func (s newest) List(context.Context, string) ([]openai.Card, error) {
	return []openai.Card{{ID: s.Name, Context: s.Context, Kind: "base"}}, nil
}

// sampling returns the newest weights.
func (s *Server) sampling() (tinker.SamplingClient, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.sampler == nil {
		return nil, 0, &openai.Error{Status: http.StatusServiceUnavailable, Type: serverError, Code: "not_ready",
			Message: "the model is not loaded yet; try again"}
	}
	return s.sampler, s.version, nil
}

// model is the model for one request.
func (s *Server) model(sampler tinker.SamplingClient, k openai.Keeper) *openai.Model {
	most := s.Context
	if most == 0 {
		most = math.MaxInt32
	}
	return &openai.Model{Text: s.Text, Context: most, Sampler: sampler, Close: func() {}, Name: s.Name, Keeper: k}
}

// answerer is a handler of package openai.
type answerer func(ctx context.Context, w http.ResponseWriter, tenant string, body []byte) error

// post serves a handler of package openai.
func (s *Server) post(h answerer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if err != nil {
			err = bad("the body cannot be read: %v", err)
		} else {
			err = h(r.Context(), w, "", body)
		}
		if err != nil {
			s.fail(w, err)
		}
	}
}

// The types of errors that clients know.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
)

// fail sends an error in OpenAI's form. What the model's service cannot do is 502: the proxy is not at fault.
func (s *Server) fail(w http.ResponseWriter, err error) {
	e := *openai.ErrorOf(err)
	var own *openai.Error
	switch {
	case errors.As(err, &own):
	case e.Status == http.StatusInternalServerError:
		e.Status, e.Code = http.StatusBadGateway, "bad_gateway"
	case e.Status == http.StatusGatewayTimeout:
		e.Code = "gateway_timeout"
	}
	if s.Log != nil && e.Status >= 500 {
		s.Log(e.Message)
	}
	e.Write(w)
}

// reply sends JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error means that the client is gone
}
