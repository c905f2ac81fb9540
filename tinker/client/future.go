package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// The SDK's limits of polling. quick is this client's own: a poll that is answered sooner was not a long poll, and the
// next one waits briefly.
const (
	pollTimeout    = 45 * time.Second
	badRequests    = 3
	quick          = time.Second
	quickest, slow = 50 * time.Millisecond, 2 * time.Second
)

// errLost means that the server no longer knows a request that it accepted.
var errLost = errors.New("the server lost the result")

// promise is an accepted request.
type promise struct {
	RequestID string `json:"request_id"`
	kind      string // of request, as the SDK names it
	model     string // of a training request
	sampler   string // of a sample
	proto     bool   // the result is protobuf
	roundTrip time.Duration
}

// promised sends r and reads the promise.
func (c *Client) promised(ctx context.Context, r *apiRequest, kind string, proto bool) (promise, error) {
	p := promise{kind: kind, proto: proto}
	begin := time.Now()
	if err := c.into(ctx, r, &p); err != nil {
		return p, err
	}
	p.roundTrip = time.Since(begin)
	if p.RequestID == "" {
		return p, serverf("client: %s was accepted without a request_id", r.path)
	}
	return p, nil
}

// future polls for p's result in the background.
func future[T any](c *Client, p promise, decode func([]byte) (T, error)) *tinker.Future[T] {
	f, resolve := tinker.NewFuture[T]()
	ok := c.spawn(func(ctx context.Context) {
		resolve(result(ctx, c, p, decode))
	})
	if !ok {
		return tinker.Resolved(*new(T), tinker.ErrClosed)
	}
	return f
}

// result polls until p has its result.
func result[T any](ctx context.Context, c *Client, p promise, decode func([]byte) (T, error)) (v T, err error) {
	raw, err := c.retrieve(ctx, p)
	if err != nil {
		return v, c.lost(p.model, p.kind, err)
	}
	if v, err = decode(raw); err != nil {
		return v, serverf("client: the result of %s is not valid in the protocol: %w", p.kind, err)
	}
	return v, nil
}

// polling is the state of one retrieval between polls.
type polling struct {
	failed, rejected, fast int
}

// retrieve polls until there is a result and returns its bytes: protobuf if the promise says so, else JSON.
func (c *Client) retrieve(ctx context.Context, p promise) ([]byte, error) {
	h := heldRequest{of: &c.holds}
	defer h.release()
	var s polling
	for n := 0; ; n++ {
		begin := time.Now()
		resp, err := c.poll(ctx, p, n)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		raw, wait, err := c.outcome(p, resp, err, &s, &h)
		if raw != nil || err != nil {
			return raw, err
		}
		if time.Since(begin) >= quick {
			s.fast = 0
		} else if wait == 0 {
			wait = min(quickest<<min(s.fast, 10), slow)
			s.fast++
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (c *Client) poll(ctx context.Context, p promise, n int) (*apiResponse, error) {
	r, err := post("/retrieve_future", wire.RetrieveRequest{RequestID: p.RequestID})
	if err != nil {
		return nil, err
	}
	r.timeout = pollTimeout
	r.header = map[string]string{wire.HeaderIteration: strconv.Itoa(n), wire.HeaderRequestType: p.kind}
	if p.proto {
		r.accept = wire.Proto
	}
	if n == 0 {
		r.header["X-Tinker-Create-Promise-Roundtrip-Time"] = strconv.FormatFloat(p.roundTrip.Seconds(), 'g', -1, 64)
	}
	return c.once(ctx, r, 0)
}

// outcome reads the answer to a poll: a result, an error, or neither, which means that the next poll follows after
// wait.
func (c *Client) outcome(p promise, resp *apiResponse, err error, s *polling,
	h *heldRequest) (raw []byte, wait time.Duration, final error) {
	var conn *connError
	if errors.As(err, &conn) {
		h.set(Unreachable, conn.Error())
		s.failed++
		return nil, backoff(s.failed - 1), nil
	}
	if err != nil {
		return nil, 0, err
	}
	r := &apiRequest{method: http.MethodPost, path: "/retrieve_future"}
	switch code := resp.status; {
	case code/100 == 2:
		s.failed = 0
		raw, err := c.payload(p, resp, h)
		return raw, 0, err
	case code == http.StatusRequestTimeout:
		s.failed = 0
		c.pending(resp.body, h)
	case code >= 500:
		s.failed = 0
		h.set(trouble(resp, nil))
	case code == http.StatusTooManyRequests:
		h.set(trouble(resp, nil))
		s.failed++
		return nil, backoff(s.failed - 1), nil
	case code == http.StatusBadRequest && s.rejected < badRequests:
		s.rejected++
	case code == http.StatusPaymentRequired && c.billing.wait(c.config.BillingPause):
		h.set(Billing, detail(resp.body))
		return nil, inBilling, nil
	case code == http.StatusGone:
		return nil, 0, serverf("client: %s: %w (%s)", p.kind, errLost, detail(resp.body))
	default:
		return nil, 0, c.failure(r, resp, nil)
	}
	return nil, 0, nil
}

// payload returns the body of a success, nil if it asks to try again.
func (c *Client) payload(p promise, resp *apiResponse, h *heldRequest) ([]byte, error) {
	if strings.Contains(resp.header.Get("Content-Type"), wire.Proto) {
		if !p.proto {
			return nil, serverf("client: the result of %s came as protobuf; JSON was requested", p.kind)
		}
		return append([]byte{}, resp.body...), nil // an empty message is a result too
	}
	var b map[string]json.RawMessage
	if err := json.Unmarshal(resp.body, &b); err != nil || b == nil {
		return nil, serverf("client: the result of %s is not a JSON object: %.200s", p.kind, resp.body)
	}
	switch {
	case text(b["type"]) == "try_again" || text(b["status"]) == "complete_metadata":
		c.pending(resp.body, h)
		return nil, nil
	case b["error"] != nil: // whatever its value
		return nil, failed(p.kind, text(b["error"]), text(b["category"]))
	case p.proto:
		return nil, serverf("client: the result of %s came as JSON; the server is older than protobuf results", p.kind)
	}
	return resp.body, nil
}

// text returns the value of a JSON string, or other JSON unchanged.
func text(raw json.RawMessage) string {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return string(raw)
	}
	return *s
}

// pending notifies the user when the server reports that the request is held up.
func (c *Client) pending(body []byte, h *heldRequest) {
	var b struct {
		State  State  `json:"queue_state"`
		Reason string `json:"queue_state_reason"`
	}
	if json.Unmarshal(body, &b) == nil && (b.State == Capacity || b.State == RateLimited) {
		h.set(b.State, b.Reason)
		return
	}
	h.release()
}

// object decodes a JSON result.
func object[T any](raw []byte) (v T, err error) {
	if err = json.Unmarshal(raw, &v); err != nil {
		err = fmt.Errorf("%w in %.200s", err, raw)
	}
	return v, err
}
