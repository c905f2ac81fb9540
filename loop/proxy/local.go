package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Local serves rollouts to programs on this machine, once somebody asks for the address. Close it.
type Local struct {
	*Offers

	mu     sync.Mutex
	url    string // "": it does not listen yet
	closed bool
	stop   chan struct{}
	served chan error
}

// NewLocal returns offers with an address of their own.
func NewLocal(o *Offers) *Local {
	return &Local{Offers: o, stop: make(chan struct{}), served: make(chan error, 1)}
}

// URL returns the address, in front of /rollouts/ID/v1.
func (l *Local) URL() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return "", errors.New("proxy: rollouts are no longer served")
	case l.url != "":
		return l.url, nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("proxy: serving rollouts: %w", err)
	}
	l.url = "http://" + listener.Addr().String()
	go func() { l.served <- l.Serve(context.Background(), listener, l.stop) }()
	return l.url, nil
}

// Close ends the server.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.stop)
	if l.url == "" {
		return nil
	}
	return <-l.served
}
