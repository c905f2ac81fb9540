package server

import (
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// unknown answers routes that are not there.
func (s *Server) unknown(c *call) (any, error) {
	return nil, status(http.StatusNotFound, "%s %s is no route of this server; it has the Tinker protocol below %s, "+
		"and parts of the interfaces of OpenAI (/v1), Anthropic (/v1/messages) and Ollama (/api)", c.r.Method,
		c.r.URL.Path, wire.Prefix)
}

// failUnknown writes an error of such a route in the form of the interface that its path belongs to.
func (s *Server) failUnknown(w http.ResponseWriter, r *http.Request, err error) int {
	path := r.URL.Path
	below := func(prefix string) bool { return strings.HasPrefix(path, prefix+"/") }
	switch {
	case below("/anthropic"), below("/v1/messages"), below("/v1") && endpoint.ForAnthropic(r):
		return s.failAnthropic(w, r, err)
	case below("/v1"), below("/oai"):
		return s.failOpenAI(w, r, err)
	case below("/api") && !below(wire.Prefix):
		return s.failOllama(w, r, err)
	}
	return s.fail(w, r, err)
}

// noEmbeddings answers the routes that clients ask for embeddings. The status is one that no client repeats.
func (s *Server) noEmbeddings(c *call) (any, error) {
	return nil, status(http.StatusNotFound, "%s is not served: the models here generate text and give no embeddings; "+
		"set the client's embedding model to another server", c.r.URL.Path)
}

// embeddingRoutes adds those routes to mux.
func (s *Server) embeddingRoutes(mux *router) {
	for _, path := range []string{"/v1/embeddings", "/oai/api/v1/embeddings", "/api/embed", "/api/embeddings"} {
		mux.Handle("POST "+path, s.handlerFailing("POST "+path, ignoredBody, s.noEmbeddings, s.failUnknown))
	}
}
