package server

import (
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// anthropicPrefixes are the paths of Anthropic's interface: that of the hosted service, and that of Anthropic's own.
var anthropicPrefixes = []string{"/anthropic/api/v1", "/v1"}

// anthropicRoutes adds the routes of Anthropic's interface to mux.
func (s *Server) anthropicRoutes(mux *router, api *endpoint.API) {
	for _, prefix := range anthropicPrefixes {
		for path, h := range map[string]func(*call) (any, error){
			"/messages":              s.posted(api.Messages),
			"/messages/count_tokens": s.posted(api.CountTokens),
		} {
			pattern := "POST " + prefix + path
			mux.Handle(pattern, s.handlerFailing(pattern, largeBody, h, s.failAnthropic))
		}
	}
}

// failAnthropic writes an error as Anthropic's clients read it, and returns its status.
func (s *Server) failAnthropic(w http.ResponseWriter, r *http.Request, err error) int {
	return s.openaiError(r, err).WriteAnthropic(w)
}
