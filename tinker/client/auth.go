package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// How long before its end a token is exchanged, and how long a failed exchange is not tried again.
const (
	refreshAhead = 5 * time.Minute
	refreshPause = time.Minute
)

// checkKey refuses what no server would take, before anything is sent.
func checkKey(key, name string) error {
	if name == "" {
		name = "TINKER_API_KEY"
	}
	if key == "" {
		return userf("client: no API key: set %s (a server of your own on this machine takes any key that begins with tml-)", name)
	}
	if !strings.HasPrefix(key, "tml-") && !strings.HasPrefix(key, "eyJ") {
		return userf("client: the API key in %s does not begin with tml-; copy the whole key", name)
	}
	return nil
}

// credential is the key, and the token it is exchanged for if the server wants that.
type credential struct {
	key string

	mu      sync.Mutex // held during an exchange, so that there is one at a time
	token   string     // empty: the key itself is sent
	expires time.Time  // zero: the token does not say
	next    time.Time  // when an exchange may be tried again
}

// token is what to send as the key. A token near its end is exchanged first; when that fails the old one is sent.
func (c *Client) token(ctx context.Context) string {
	a := c.auth
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == "" {
		return a.key
	}
	now := time.Now()
	if now.Before(a.expires.Add(-refreshAhead)) || now.Before(a.next) {
		return a.token
	}
	if err := c.exchange(ctx, 0); err != nil {
		a.next = now.Add(refreshPause)
		c.Log(fmt.Sprintf("the access token could not be renewed: %v", err))
	}
	return a.token
}

// exchange gets a new token; the caller holds the credential's lock, or nobody else knows the client yet.
func (c *Client) exchange(ctx context.Context, wait time.Duration) error {
	r := &request{method: "POST", path: "/auth/token", body: []byte("{}"), contentType: wire.JSON, anonymous: true, window: wait}
	if wait > 0 {
		r.retries = retries
	}
	var out wire.TokenResponse
	if err := c.into(ctx, r, &out); err != nil {
		return err
	}
	if out.JWT == "" {
		return serverf("client: %s gave no token for the API key", c.base)
	}
	c.auth.token, c.auth.expires = out.JWT, expiry(out.JWT)
	return nil
}

// expiry reads the claim exp of a JWT; the zero time when there is none.
func expiry(jwt string) time.Time {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct{ Exp float64 }
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Exp), 0)
}
