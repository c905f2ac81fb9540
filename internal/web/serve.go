package web

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// Edge is how a program answers on a listener: within time limits, to few enough connections, and only for pages that
// its Guard lets in.
type Edge struct {
	Options
	Connections
	Guard *Guard // nil: the handler checks Host and Origin itself
	// Cert and Key are files of TLS; "" is plain HTTP.
	Cert, Key string
	// End is how long answers under way may take once no new requests are accepted; 0 cuts them off.
	End time.Duration
	// Ending, if set, is called when that begins, so that requests which wait are answered.
	Ending func()
}

// Serve answers on l until ctx ends or stop is closed. It closes l.
func (e Edge) Serve(ctx context.Context, stop <-chan struct{}, l net.Listener, h http.Handler) error {
	if e.Guard != nil {
		h = e.Guard.Handler(h)
	}
	s := Server(h, e.Options)
	served := make(chan error, 1)
	go func() { served <- e.accept(s, Listen(l, e.Connections)) }()
	select {
	case err := <-served:
		e.ending()
		return err
	case <-stop:
	case <-ctx.Done():
	}
	e.ending()
	end, release := context.WithTimeout(context.WithoutCancel(ctx), e.End)
	defer release()
	err := s.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return err
}

func (e Edge) accept(s *http.Server, l net.Listener) error {
	if e.Cert == "" {
		return s.Serve(l)
	}
	s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	return s.ServeTLS(l, e.Cert, e.Key)
}

func (e Edge) ending() {
	if e.Ending != nil {
		e.Ending()
	}
}
