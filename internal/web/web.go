// Package web sets up HTTP servers that are open to untrusted clients: time limits for headers, bodies and answers,
// size limits for headers and connections, a guard against web pages, and bodies that are read within a budget of
// memory, which tenants share. It is independent of the service.
package web

import (
	"cmp"
	"log"
	"net/http"
	"time"
)

// Options limit the resources of one client. Zero values mean their defaults.
type Options struct {
	Header      time.Duration // how long a request's header may take; default 10 s
	Idle        time.Duration // how long a connection may wait for its next request; default 5 min
	Stall       time.Duration // how long a body, or a client that reads its answer, may make no progress; default 30 s
	HeaderBytes int           // of one request; default 64 KiB
	ErrorLog    *log.Logger
}

func (o Options) withDefaults() Options {
	o.Header = cmp.Or(o.Header, 10*time.Second)
	o.Idle = cmp.Or(o.Idle, 5*time.Minute)
	o.Stall = cmp.Or(o.Stall, DefaultStall)
	o.HeaderBytes = cmp.Or(o.HeaderBytes, 64<<10)
	return o
}

// DefaultStall is the default of Options.Stall.
const DefaultStall = 30 * time.Second

// Server serves h within the limits of o. There is no time limit for a whole request: a slow upload is accepted as
// long as bytes arrive.
func Server(h http.Handler, o Options) *http.Server {
	o = o.withDefaults()
	return &http.Server{Handler: Progress(h, o.Stall), ReadHeaderTimeout: o.Header, IdleTimeout: o.Idle,
		MaxHeaderBytes: o.HeaderBytes, ErrorLog: o.ErrorLog}
}
