package server

import "github.com/seed-d9ad8ee0/trinity/tinker/endpoint"

// tokenPrefixes are where clients look for the token routes: vLLM has them at its root, and clients take /v1 or the
// route's name off the address that they were given.
var tokenPrefixes = []string{"", "/v1", "/oai/api", "/oai/api/v1"}

// tokenRoutes adds vLLM's routes for tokens to mux.
func (s *Server) tokenRoutes(mux *router, api *endpoint.API) {
	for _, prefix := range tokenPrefixes {
		on := func(method, path string, kind bodyKind, h func(*call) (any, error)) {
			pattern := method + " " + prefix + path
			mux.Handle(pattern, s.handlerFailing(pattern, kind, h, s.failOpenAI))
		}
		on("POST", "/tokenize", largeBody, s.posted(api.Tokenize))
		on("POST", "/detokenize", largeBody, s.posted(api.Detokenize))
		on("GET", "/tokenizer_info", noBody, func(c *call) (any, error) {
			return answered(api.TokenizerInfo(c.ctx, c.w, c.tenant, c.r.URL.Query().Get("model")))
		})
	}
	for _, prefix := range []string{"", "/oai/api"} {
		pattern := "POST " + prefix + "/inference/v1/generate"
		mux.Handle(pattern, s.handlerFailing(pattern, largeBody, s.posted(api.Generate), s.failOpenAI))
	}
}
