package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A web page may send requests to any address, this machine's loopback included. Two headers that only the browser sets
// tell such a request from a local program's: Origin is the page, and Host is the name that the page used. A page whose
// own name was pointed at this machine (DNS rebinding) is of the same origin as the server, but its Host is foreign.
// Both are checked before anything else, so that the routes that need no key on loopback are safe from any page.

// letIn reports whether a request may go on. Otherwise it was answered: with the refusal of a foreign Host or Origin,
// or as a preflight of CORS (https://fetch.spec.whatwg.org/#cors-preflight-fetch).
func (s *Server) letIn(w http.ResponseWriter, r *http.Request) bool {
	if !s.knownHost(r) {
		s.turnAway(w, r, status(http.StatusForbidden, "Host is %q, which is not a name of this server; "+
			"start it with --allow-host %s if clients reach it under that name", hostOf(r.Host), hostOf(r.Host)))
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	allowed := slices.Contains(s.opts.Origins, origin) || slices.Contains(s.opts.Origins, "*")
	if !allowed && !s.ownOrigin(r, origin) {
		s.turnAway(w, r, status(http.StatusForbidden, "Origin is %q: web pages of another origin may not call this "+
			"server; start it with --cors-origin %s to allow that one", origin, origin))
		return false
	}
	if !allowed {
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
func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	fail := s.fail
	if h, _ := s.mux.Handler(r); h != nil {
		if route, ok := h.(*route); ok {
			fail = route.fail
		}
	}
	w.Header().Set("Connection", "close") // so that the body is not read
	code := fail(w, r, err)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(strangerWait))
	s.stats.request("refused", code, 0)
	s.opts.Log.Warn("request refused", "path", r.URL.Path, "host", r.Host, "origin", r.Header.Get("Origin"))
}

// knownHost reports whether the Host header names this server: a name of loopback, the address of the connection, or
// one of Options.Hosts. A request without the header comes from no browser.
func (s *Server) knownHost(r *http.Request) bool {
	host := hostOf(r.Host)
	if s.opts.Hosts == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		slices.Contains(s.opts.Hosts, host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return ip.Unmap().IsLoopback()
	}
	at, err := netip.ParseAddrPort(local.String())
	return ip.Unmap().IsLoopback() || err == nil && at.Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// ownOrigin reports whether a page comes from this server itself, under the name of the request or its public address.
// Without the check of the Host header this lets in any page that has a name of this machine, but keys are required
// then, and such a page has none.
func (s *Server) ownOrigin(r *http.Request, origin string) bool {
	page, err := url.Parse(origin)
	if err != nil || page.Host == "" {
		return false
	}
	if public, err := url.Parse(s.opts.PublicURL); err == nil && public.Host != "" && sameHost(page, public) &&
		page.Scheme == public.Scheme {
		return true
	}
	return sameHost(page, &url.URL{Scheme: page.Scheme, Host: r.Host})
}

// sameHost compares host and port, with the default port of the scheme.
func sameHost(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "" {
			return p
		}
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

// hostOf is the name or the address in a Host header: without the port, the brackets of IPv6 and a last dot, in lower
// case.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(header, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
