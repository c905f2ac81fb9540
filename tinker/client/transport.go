package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

const (
	timeout = 60 * time.Second // limit without a byte from the server
	maxBody = 512 << 20        // of an answer
)

// apiRequest is one call of the API. Its idempotency key is drawn once, so that the server recognises repetitions.
type apiRequest struct {
	method, path string // path below /api/v1
	body         []byte
	contentType  string
	encoding     string
	accept       string // empty is JSON
	header       map[string]string
	timeout      time.Duration // 0 is timeout

	retries   int           // repetitions of the low level
	window    time.Duration // time limit of the outer level
	conflict  bool          // 409 is an answer, not a reason to repeat
	busy      bool          // 429 is an answer
	redirect  bool          // a redirection is an answer
	anonymous bool          // sent with the raw key, before any exchange
	key       string
}

// apiResponse is a complete answer.
type apiResponse struct {
	status int
	header http.Header
	body   []byte
}

// connError is the error of an attempt without a usable answer.
type connError struct{ err error }

func (e *connError) Error() string { return e.err.Error() }
func (e *connError) Unwrap() error { return e.err }

// post returns a JSON request with the retry limits of most calls.
func post(path string, body any) (*apiRequest, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, userf("client: %s: %w", path, err)
	}
	return &apiRequest{method: http.MethodPost, path: path, body: raw, contentType: wire.JSON, retries: retries,
		window: window}, nil
}

// postJSON sends body and reads the answer into out.
func (c *Client) postJSON(ctx context.Context, path string, body, out any) error {
	r, err := post(path, body)
	if err != nil {
		return err
	}
	return c.into(ctx, r, out)
}

func (c *Client) getJSON(ctx context.Context, path string, out any) error {
	return c.into(ctx, &apiRequest{method: http.MethodGet, path: path, retries: retries, window: window}, out)
}

// into calls and decodes the answer; unknown fields are ignored.
func (c *Client) into(ctx context.Context, r *apiRequest, out any) error {
	resp, err := c.call(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(resp.body, out); err != nil {
		return serverf("client: the answer to %s %s is not valid in the protocol: %w", r.method, r.path, err)
	}
	return nil
}

// once makes one attempt. The error is a *connError unless ctx ended.
func (c *Client) once(ctx context.Context, r *apiRequest, attempt int) (*apiResponse, error) {
	key := c.auth.key
	if !r.anonymous {
		key = c.token(ctx)
	}
	actx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := r.timeout
	limit = cmp.Or(limit, timeout)
	tooLong := fmt.Errorf("no answer within %v", limit)
	// assuming an upload rate of at least 64 KiB/s
	timer := time.AfterFunc(limit+time.Duration(len(r.body)/(64<<10))*time.Second, func() { cancel(tooLong) })
	defer timer.Stop()
	req, err := http.NewRequestWithContext(actx, r.method, c.base+wire.Prefix+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("client: %w; check the base address %s", err, c.base)
	}
	r.headers(req.Header, key, attempt)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		c.broken(ctx, actx)
		return nil, attemptError(ctx, actx, err)
	}
	defer resp.Body.Close()
	limits := bound.Of(maxBody)
	body, err := limits.Read(&idleReader{resp.Body, timer, limit})
	if err == nil && !strings.Contains(resp.Header.Get("Content-Type"), wire.Proto) {
		err = limits.Check(body)
	}
	var much *bound.Error
	if errors.As(err, &much) {
		return nil, serverf("client: the server answers %s with %w", r.path, err)
	}
	if err != nil {
		c.broken(ctx, actx)
		return nil, attemptError(ctx, actx, err)
	}
	if resp.StatusCode == http.StatusBadRequest && resp.ContentLength <= 0 && !resp.Uncompressed {
		return nil, &connError{errors.New("400 without a length: an intermediary answered instead of the server")}
	}
	return c.translate(r, &apiResponse{resp.StatusCode, resp.Header, body}), nil
}

func (r *apiRequest) headers(h http.Header, key string, attempt int) {
	h.Set("Accept", wire.JSON)
	if r.accept != "" {
		h.Set("Accept", r.accept)
	}
	if r.contentType != "" {
		h.Set("Content-Type", r.contentType)
	}
	if r.encoding != "" {
		h.Set("Content-Encoding", r.encoding)
	}
	h.Set("User-Agent", "trinity")
	h.Set(wire.HeaderKey, key)
	if r.method != http.MethodGet {
		if r.key == "" {
			r.key = "trinity-" + drawn()
		}
		h.Set(wire.HeaderIdempotency, r.key)
	}
	h.Set("X-Stainless-Package-Version", sdkVersion)
	h.Set("X-Stainless-Retry-Count", strconv.Itoa(attempt))
	for k, v := range r.header {
		h.Set(k, v)
	}
}

// broken counts a connection that broke, unless the caller or a time limit ended it.
func (c *Client) broken(ctx, attempt context.Context) {
	if ctx.Err() == nil && attempt.Err() == nil {
		c.breaks.Add(1)
	}
}

// attemptError distinguishes the end of the caller's ctx from a failed attempt.
func attemptError(ctx, attempt context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var outer *url.Error
	switch {
	case attempt.Err() != nil:
		err = context.Cause(attempt)
	case errors.As(err, &outer): // the caller names the address
		err = outer.Err
	}
	return &connError{err}
}

// idleReader restarts the time limit with every byte.
type idleReader struct {
	r     io.Reader
	timer *time.Timer
	limit time.Duration
}

func (r *idleReader) Read(p []byte) (int, error) {
	r.timer.Reset(r.limit)
	return r.r.Read(p)
}
