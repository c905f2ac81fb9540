package connect

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/run/speaker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// Server answers OpenAI's and Anthropic's interfaces with one model, whatever name a request has: programs ask for
// models by names of their own too. It implements endpoint.Models.
type Server struct {
	Name    string
	Speaker *speaker.Speaker // with a chat template

	text *endpoint.Text
}

// NewServer returns a server of an open model.
func NewServer(ctx context.Context, name string, s *speaker.Speaker) (*Server, error) {
	has, err := s.Engine.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	ends, err := s.Engine.EndTokens(has.Models[0].Name) // the template's and the folder's
	if err != nil {
		return nil, err
	}
	return &Server{name, s, &endpoint.Text{Tokenizer: s.Tokenizer, Template: s.Template, Ends: ends}}, nil
}

// Target is the server's model at an address.
func (s *Server) Target(at net.Addr) Target {
	return Target{URL: "http://" + at.String(), Key: localKey, Model: s.Name, Context: s.Speaker.Context,
		Tools: s.Speaker.Template.CallStyle() != chat.NoCalls}
}

// localKey is a key for a server on this machine that takes any.
const localKey = "tml-local"

// Open implements endpoint.Models.
func (s *Server) Open(context.Context, string, string) (*endpoint.Model, error) {
	return &endpoint.Model{Text: s.text, Context: s.Speaker.Context, Sampler: s.Speaker.Client, Close: func() {}}, nil
}

// List implements endpoint.Models.
func (s *Server) List(context.Context, string) ([]endpoint.Card, error) {
	return []endpoint.Card{{ID: s.Name, Context: s.Speaker.Context, Kind: "base"}}, nil
}

// Serve answers on l until stop is closed, and closes l.
func (s *Server) Serve(ctx context.Context, stop <-chan struct{}, l net.Listener) error {
	return web.Edge{Guard: &web.Guard{}, End: time.Second}.Serve(ctx, stop, l, s.handler())
}

// handler has the routes that ask the model, and those by which programs look for a server.
func (s *Server) handler() http.Handler {
	api := endpoint.New(s, time.Now)
	bodies := web.NewBodies(web.BodyOptions{Weigh: endpoint.WeighBody})
	m := http.NewServeMux()
	for _, route := range api.Routes() {
		m.HandleFunc("POST "+route.Path, func(w http.ResponseWriter, r *http.Request) {
			body, err := bodies.ReadWeighed(r, endpoint.MaxBody)
			if err == nil {
				err = route.Answer(r.Context(), w, "", body)
			}
			switch {
			case err != nil && route.Anthropic:
				endpoint.ErrorOf(err).WriteAnthropic(w)
			case err != nil:
				endpoint.ErrorOf(err).Write(w)
			}
		})
	}
	m.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if err := api.ListFor(w, r, ""); err != nil {
			endpoint.ErrorOf(err).Write(w)
		}
	})
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return bodies.Handler(m)
}
