package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// Offers serves the rollouts that a workflow opens, beside a loop that explores. It implements workflow.Rollouts.
// Close it.
type Offers struct {
	handler *handler

	mu     sync.Mutex
	url    string // for programs on this machine; "": it does not listen yet
	closed bool
	stop   chan struct{}
	served chan error
}

// OfferOptions set Offers up.
type OfferOptions struct {
	Name string // of the model, as clients see it
	Text *endpoint.Text
	Now  func() time.Time
	Log  func(string) // of requests that failed; called from several goroutines
	Work bool         // a workflow opens rollouts
}

// NewOffers makes Offers.
func NewOffers(o OfferOptions) *Offers {
	d := newHandler(o.Name, o.Text, o.Now, o.Log)
	d.calls.work = o.Work
	return &Offers{handler: d, stop: make(chan struct{}), served: make(chan error, 1)}
}

// Open implements workflow.Rollouts.
func (o *Offers) Open(opening workflow.Opening) (workflow.Offered, error) {
	return o.handler.calls.Open(opening)
}

// Handler returns the endpoints.
func (o *Offers) Handler() http.Handler {
	m := http.NewServeMux()
	for _, r := range endpoint.New(&rolloutModels{handler: o.handler}, o.handler.now).Routes() {
		m.HandleFunc("POST "+r.Path, o.handler.inSession(belowV1(r), o.outside))
	}
	m.HandleFunc("GET /v1/models", o.handler.models)
	m.HandleFunc("GET /health", health)
	o.handler.routes(m)
	return o.handler.bodies.Handler(m)
}

// outside refuses calls outside rollouts: weights belong to the rollouts of a step.
func (o *Offers) outside(w http.ResponseWriter, _ *http.Request) {
	o.handler.fail(w, problem(http.StatusNotFound, "no_rollout", "this run answers below the URLs of rollouts alone: "+
		"POST /rollouts/next gives the base_url of one"))
}

// Serve answers on l until stop is closed or ctx ends. It closes l.
func (o *Offers) Serve(ctx context.Context, l net.Listener, stop <-chan struct{}) error {
	return o.handler.serve(ctx, o.Handler(), l, stop)
}

// errClosed ends rollouts with the run.
var errClosed = errors.New("proxy: rollouts are no longer served")

// URL returns an address for programs on this machine, in front of /rollouts/ID/v1. It listens from the first call on.
func (o *Offers) URL() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return "", errClosed
	case o.url != "":
		return o.url, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("proxy: serving rollouts: %w", err)
	}
	o.url = "http://" + l.Addr().String()
	go func() { o.served <- o.Serve(context.Background(), l, o.stop) }()
	return o.url, nil
}

// Close ends open rollouts and the server at URL.
func (o *Offers) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	o.closed = true
	o.handler.calls.end(errClosed)
	close(o.stop)
	if o.url == "" {
		return nil
	}
	return <-o.served
}
