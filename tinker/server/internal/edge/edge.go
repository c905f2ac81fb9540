// Package edge takes requests in: it checks Host, Origin and key, reads bodies within their limits, and writes answers,
// errors, metrics and the log.
package edge

import (
	"net/http"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Access says who may call a server.
type Access struct {
	// Keys decides which keys are accepted; nil accepts every key with the prefix of a key.
	Keys Keys
	// PublicURL is the address at which clients reach the server (scheme and host, perhaps a path), for download
	// addresses; "" uses each request's own.
	PublicURL string
	// Hosts are public names that a Host header may have, in lower case and without a port; nil accepts any. Addresses
	// and private names always may, see web.Guard.
	Hosts []string
	// Origins are the web pages, as in an Origin header, that may call the server from a browser; * is all pages. Pages
	// of the server itself may always.
	Origins []string
	// Private gives, by folder of this machine, the text that replaces it in errors for clients.
	Private map[string]string
}

// Bodies limit the bodies of requests. Zero values mean their defaults.
type Bodies struct {
	MaxBody      int64 // bytes of one request of training or sampling, unpacked; default 256 MiB
	MaxSmallBody int64 // bytes of one request of any other kind; default 1 MiB
	// bytes of memory of all requests that are being read and decoded; default 1 GiB
	MaxBodies       int64
	MaxTenantBodies int64 // bytes for one tenant; default half of MaxBodies
	// largest ratio of a body's unpacked to its packed size, beyond 16 MiB; default 256
	MaxUnpack   int
	MaxElements int // objects, arrays, members or messages of one body; default 256 Ki
	MaxDepth    int // of nested JSON; default 64
}

// Edge is where requests come in: it checks Host, Origin and key, reads bodies within their limits, and writes answers,
// errors, metrics and the log of each request.
type Edge struct {
	Access Access
	limits Bodies
	life   *life.Life
	meter  meter
	hider  *strings.Replacer
	Bodies *web.Bodies // of requests in flight

	Mux *router
	// fallback writes an error of a request without a route, and returns its status.
	Fallback Failure
	// refuse answers a training request that cannot be decoded.
	Refuse func(c *Call, proto bool, bad error) (any, error)
}

// meter counts requests.
type meter interface {
	Request(route string, status int, took time.Duration)
	Called(tenant string, now time.Time)
}

// Failure writes an error in the form of an interface and returns its status.
type Failure = func(http.ResponseWriter, *http.Request, error) int

func New(a Access, b Bodies, l *life.Life, m meter) *Edge {
	Default(&b.MaxBody, 256<<20)
	Default(&b.MaxSmallBody, 1<<20)
	Default(&b.MaxBodies, 1<<30)
	Default(&b.MaxTenantBodies, b.MaxBodies/2)
	Default(&b.MaxUnpack, 256)
	Default(&b.MaxElements, 256<<10)
	Default(&b.MaxDepth, 64)
	e := &Edge{Access: a, limits: b, life: l, meter: m, hider: hider(a.Private),
		Bodies: web.NewBodies(web.BodyOptions{Most: b.MaxBodies, Tenant: b.MaxTenantBodies, Unpack: b.MaxUnpack,
			Malformed: wire.ErrMalformed}),
		Mux: &router{ServeMux: http.NewServeMux()}}
	e.Fallback = e.Fail
	return e
}

// On serves a route of the Tinker protocol.
func (s *Edge) On(pattern string, kind bodyKind, h Handler) {
	s.Mux.Handle(pattern, &route{edge: s, pattern: pattern, kind: kind, serve: h, fail: s.Fail, tenant: s.Authenticate})
}

// OnOther serves a route of another interface: fail writes its errors, and if no key is required, callers without
// one are the tenant of localKey.
func (s *Edge) OnOther(pattern string, kind bodyKind, h Handler, fail Failure) {
	s.Mux.Handle(pattern, s.Other(pattern, kind, h, fail))
}

func (s *Edge) Other(pattern string, kind bodyKind, h Handler, fail Failure) http.Handler {
	return &route{edge: s, pattern: pattern, kind: kind, serve: h, fail: fail, tenant: s.authenticateLocal}
}

// ServeHTTP implements http.Handler.
func (s *Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.letIn(w, r) {
		s.Mux.ServeHTTP(w, r)
	}
}

// Default sets a value that is not positive to its default.
func Default[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
