package verifiers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/internal/msgpack"
	"github.com/seed-d9ad8ee0/trinity/internal/zmtp"
)

// healthTimeout is how long a server may take to answer health. A worker that loads its environment does not.
const healthTimeout = 30 * time.Second

// mostMessage is how many bytes a server may send for an episode, in one message or in all its deltas.
const mostMessage = 256 << 20

// client asks one server. It is safe for concurrent use.
type client struct {
	dealer *zmtp.Dealer
	ended  chan struct{} // closed when the connection is lost
	err    error         // after ended

	mu      sync.Mutex
	pending map[string]*request
}

// request waits for its answer.
type request struct {
	assembly *assembly
	answer   chan any // one; nil: the connection was lost
}

// dial connects to a server.
func dial(ctx context.Context, address string) (*client, error) {
	d, err := zmtp.Dial(ctx, address, mostMessage)
	if err != nil {
		return nil, err
	}
	c := &client{dealer: d, ended: make(chan struct{}), pending: map[string]*request{}}
	go c.receive()
	return c, nil
}

// receive hands the answers out until the connection is lost.
func (c *client) receive() {
	err := c.each()
	c.dealer.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	close(c.ended)
	c.pending = nil
}

func (c *client) each() error {
	for {
		frames, err := c.dealer.Recv()
		if err != nil {
			return fmt.Errorf("the connection is lost: %w", err)
		}
		if err := c.take(frames); err != nil {
			return err
		}
	}
}

// take reads one message.
func (c *client) take(frames [][]byte) error {
	kind := "reply" // of verifiers 0.3, which has none
	switch len(frames) {
	case 2:
	case 3:
		kind = string(frames[1])
	default:
		return fmt.Errorf("it sent a message of %d frames; an env server of verifiers sends 2 or 3", len(frames))
	}
	last := frames[len(frames)-1]
	value, err := msgpack.Decode(last, bound.Of(mostMessage))
	if err != nil {
		return fmt.Errorf("it sent garbage: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.pending[string(frames[0])]
	switch {
	case r == nil: // nobody waits for it any more
	case kind == "delta":
		return r.assembly.apply(value, len(last))
	case kind == "reply":
		delete(c.pending, string(frames[0]))
		r.answer <- value
	default:
		return fmt.Errorf("it sent a message of the kind %.20q; delta and reply are known", kind)
	}
	return nil
}

// ask sends a request and waits for its answer. A run that nobody waits for is cancelled.
func (c *client) ask(ctx context.Context, method string, payload map[string]any) (any, *assembly, error) {
	data, err := msgpack.Encode(payload)
	if err != nil {
		return nil, nil, err
	}
	id := newID()
	v, a, err := c.request(ctx, []byte(id), []byte(method), data)
	if ctx.Err() != nil && err != nil && method == "run" {
		cancel, err := msgpack.Encode(map[string]any{"request_id": id})
		if err == nil {
			c.dealer.Send([]byte(newID()), []byte("cancel"), cancel)
		}
	}
	return v, a, err
}

// request sends frames, the first of which is an id, and waits for the answer.
func (c *client) request(ctx context.Context, frames ...[]byte) (any, *assembly, error) {
	id, r := string(frames[0]), &request{newAssembly(), make(chan any, 1)}
	c.mu.Lock()
	if c.pending != nil {
		c.pending[id] = r
	}
	c.mu.Unlock()
	defer c.forget(id)
	if err := c.dealer.Send(frames...); err != nil {
		c.Close()
	}
	select {
	case v := <-r.answer:
		return v, r.assembly, nil
	case <-c.ended:
		return nil, nil, c.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

func (c *client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// health reports whether the server answers.
func (c *client) health(ctx context.Context, timeout time.Duration) error {
	late := fmt.Errorf("it did not answer within %v", timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	v, _, err := c.ask(ctx, "health", map[string]any{})
	if errors.Is(err, late) {
		return err
	}
	if m, _ := v.(map[string]any); err == nil && m["success"] != true {
		return fmt.Errorf("it answers health with %.100v", v)
	}
	return err
}

// legacy reports whether the server is one of verifiers before 0.3, which knows other messages: [id] and "ping".
func (c *client) legacy(ctx context.Context, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, _, err := c.request(ctx, []byte(newID()), []byte("ping"))
	return err == nil
}

// Close ends the connection.
func (c *client) Close() {
	c.dealer.Close()
	<-c.ended
}

// newID is a random id of a request, as the package's own client makes them.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
