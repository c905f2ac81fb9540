package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	mrand "math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/pause"
)

// The SDK's limits.
const (
	retries   = 10              // repeats at the low level
	window    = 5 * time.Minute // of the outer level
	longest   = 30 * time.Second
	inBilling = 5 * time.Second // between two attempts while billing is blocked
)

func drawn() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// call sends r until an answer would not change by repetition or the limits are reached. An answer with another status
// than 2xx is an error.
func (c *Client) call(ctx context.Context, r *apiRequest) (*apiResponse, error) {
	ctx, done := c.within(ctx)
	defer done()
	h := heldRequest{of: &c.holds}
	defer h.release()
	begin := time.Now()
	for n := 0; ; n++ {
		resp, err := c.repeat(ctx, r, &h)
		if err == nil && (resp.status/100 == 2 || r.redirect && resp.status/100 == 3) {
			return resp, nil
		}
		switch {
		case err == nil && resp.status == http.StatusPaymentRequired && c.billing.wait(c.config.BillingPause):
			h.set(Billing, detail(resp.body))
			n--
			err = pause.For(ctx, inBilling)
		case !r.repeats(resp, err) || time.Since(begin) >= r.window:
			return nil, c.failure(r, resp, err)
		default:
			err = pause.For(ctx, backoff(n))
		}
		if err != nil {
			return nil, err
		}
	}
}

// repeat is the low level: r.retries quick repeats.
func (c *Client) repeat(ctx context.Context, r *apiRequest, h *heldRequest) (*apiResponse, error) {
	for k := 0; ; k++ {
		resp, err := c.once(ctx, r, k)
		if !r.repeats(resp, err) {
			return resp, err
		}
		if k > 0 || r.retries == 0 { // the first failure is not reported
			h.set(trouble(resp, err))
		}
		if k >= r.retries {
			return resp, err
		}
		if err := pause.For(ctx, delay(resp, k)); err != nil {
			return nil, err
		}
	}
}

// repeats reports whether an attempt must be repeated.
func (r *apiRequest) repeats(resp *apiResponse, err error) bool {
	if err != nil {
		var conn *connError
		return errors.As(err, &conn)
	}
	switch resp.header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch {
	case resp.status == http.StatusConflict:
		return !r.conflict
	case resp.status == http.StatusTooManyRequests:
		return !r.busy
	}
	return resp.status == http.StatusRequestTimeout || resp.status >= 500
}

func trouble(resp *apiResponse, err error) (State, string) {
	if err != nil {
		return Unreachable, err.Error()
	}
	if resp.status == http.StatusTooManyRequests {
		return RateLimited, detail(resp.body)
	}
	return Unreachable, http.StatusText(resp.status) + ": " + detail(resp.body)
}

// backoff is 1, 2, 4 … 30 s.
func backoff(n int) time.Duration { return min(time.Second<<min(n, 10), longest) }

// delay is the wait that the server asks for, up to a minute, or else 0.5, 1, 2 … 10 s minus up to a quarter.
func delay(resp *apiResponse, k int) time.Duration {
	if resp != nil {
		if ms, err := strconv.ParseFloat(resp.header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms <= 60_000 {
			return time.Duration(ms * float64(time.Millisecond))
		}
		if s, err := strconv.ParseFloat(resp.header.Get("Retry-After"), 64); err == nil && s > 0 && s <= 60 {
			return time.Duration(s * float64(time.Second))
		}
	}
	d := min(500*time.Millisecond<<min(k, 10), 10*time.Second)
	return d - time.Duration(mrand.Float64()*0.25*float64(d))
}

// billingPause is the time since which the service has refused requests with 402. It starts again after five minutes
// without a refusal.
type billingPause struct {
	mu          sync.Mutex
	since, last time.Time
}

// wait reports whether to continue to wait, for at most that many seconds.
func (b *billingPause) wait(seconds int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.last.IsZero() || now.Sub(b.last) > window {
		b.since = now
	}
	b.last = now
	return now.Sub(b.since) < time.Duration(seconds)*time.Second
}
