package edge

import (
	"errors"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
)

// letIn reports whether a request may proceed. Otherwise it was answered: a foreign page was refused, or it was a
// preflight of CORS (https://fetch.spec.whatwg.org/#cors-preflight-fetch). It comes before anything else, so that the
// routes that need no key on loopback are safe from any page.
func (s *Edge) letIn(w http.ResponseWriter, r *http.Request) bool {
	g := web.Guard{Hosts: s.Access.Hosts, AnyHost: s.Access.Hosts == nil, Origins: s.Access.Origins,
		Public: s.Access.PublicURL}
	var f *web.Foreign
	if errors.As(g.Check(r), &f) {
		s.turnAway(w, r, Status(http.StatusForbidden, "%v%s", f, remedy(f)))
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" || !g.Allows(origin) {
		return true
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "*")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	preflight(h, r)
	w.WriteHeader(http.StatusNoContent)
	return false
}

// preflightAge is how long a browser may remember the answer to a preflight, in seconds.
const preflightAge = "600"

// preflight answers which requests a page may send: all. The key of a request is checked when it comes.
func preflight(h http.Header, r *http.Request) {
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" { // a page from the internet, and loopback
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	h.Set("Access-Control-Max-Age", preflightAge)
}

// turnAway refuses a request in the form of its route, without reading its body.
func (s *Edge) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	fail := s.Fallback
	if h, _ := s.Mux.Handler(r); h != nil {
		if route, ok := h.(*route); ok {
			fail = route.fail
		}
	}
	w.Header().Set("Connection", "close") // so that the body is not read
	code := fail(w, r, err)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerWait))
	s.meter.Request("refused", code, 0)
	s.life.Log.Warn("request refused", "path", r.URL.Path, "host", r.Host, "origin", r.Header.Get("Origin"))
}

// remedy tells the operator how to allow a request that a Guard refused.
func remedy(f *web.Foreign) string {
	switch f.Header {
	case "Host":
		return "; start it with --allow-host " + f.Value + " if clients reach it under that name"
	case "Origin":
		return "; start it with --cors-origin " + f.Value + " to allow that one"
	}
	return ""
}
