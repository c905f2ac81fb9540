package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func userf(format string, args ...any) error   { return tinker.Userf(format, args...) }
func serverf(format string, args ...any) error { return tinker.Serverf(format, args...) }

// StatusError is an answer with another status than 2xx.
type StatusError struct {
	Status int
	Call   string // method and path
	Detail string // the server's text
	remedy string
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("client: %s: %d %s", e.Call, e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.remedy != "" {
		s += "; " + e.remedy
	}
	return s
}

// Unwrap returns package tinker's error for the status.
func (e *StatusError) Unwrap() error {
	switch e.Status {
	case http.StatusNotFound:
		return tinker.ErrNotFound
	case http.StatusConflict:
		return tinker.ErrExists
	}
	return known(e.Detail)
}

// failure returns the error of a call that will not be repeated.
func (c *Client) failure(r *apiRequest, resp *apiResponse, err error) error {
	call := r.method + " " + r.path
	var conn *connError
	switch {
	case errors.As(err, &conn):
		return serverf("client: %s: no answer from %s: %w; is the address right and the server running?", call, c.base,
			conn.err)
	case err != nil:
		return err
	}
	e := &StatusError{Status: resp.status, Call: call, Detail: detail(resp.body)}
	e.remedy = c.remedy(resp.status)
	return &tinker.Error{Category: category(resp.status), Err: e}
}

func (c *Client) remedy(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return fmt.Sprintf("%s does not accept the API key%s; check it, or create a new one", c.base, c.from())
	case http.StatusPaymentRequired:
		return "fix the account's billing and start the same command again"
	case http.StatusForbidden:
		return "the API key" + c.from() + " has no right to this"
	case http.StatusTooManyRequests:
		return "too many requests at a time; lower the number of concurrent samples, or wait"
	}
	return ""
}

func (c *Client) from() string {
	if c.KeyName == "" {
		return ""
	}
	return " from " + c.KeyName
}

// category says whether the caller can correct the error or a retry may succeed.
func category(status int) tinker.Category {
	if status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status == http.StatusGone ||
		status >= 500 {
		return tinker.Server
	}
	return tinker.User
}

// detail returns the text of an error's body: the value of {"detail": "…"}, or else the whole body.
func detail(body []byte) string {
	var b struct{ Detail, Error, Message any }
	if json.Unmarshal(body, &b) == nil {
		for _, v := range []any{b.Detail, b.Error, b.Message} {
			switch v := v.(type) {
			case string:
				return v
			case nil:
			default:
				if text, err := json.Marshal(v); err == nil {
					return string(text)
				}
			}
		}
	}
	text := strings.TrimSpace(string(body))
	if len(text) > 500 {
		text = text[:500] + "…"
	}
	return text
}

// remoteError is a failure that the server reported as the result of a request.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// failed returns the error of a failed future. A result has only a text, so package tinker's errors are recognised by
// their text.
func failed(kind, text, cat string) error {
	c := tinker.Category(cat)
	if c != tinker.User && c != tinker.Server {
		c = tinker.Unknown
	}
	return &tinker.Error{Category: c, Err: &remoteError{"client: " + kind + ": " + text, known(text)}}
}

// known returns the error of package tinker whose text is in a server's text, or nil.
func known(text string) error {
	for _, err := range []error{tinker.ErrNotFound, tinker.ErrExists} {
		if strings.Contains(text, err.Error()) {
			return err
		}
	}
	return nil
}
