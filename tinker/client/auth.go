package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// A token is exchanged this long before it expires, and a failed exchange is tried again after this time.
const (
	refreshAhead = 5 * time.Minute
	refreshPause = time.Minute
)

// checkKey refuses a key that no server accepts, before anything is sent.
func checkKey(key, name string) error {
	name = cmp.Or(name, "TINKER_API_KEY")
	if key == "" {
		return userf("client: no API key: set %s (a local server accepts any key that begins with tml-)", name)
	}
	if !strings.HasPrefix(key, "tml-") && !strings.HasPrefix(key, "eyJ") {
		return userf("client: the API key in %s does not begin with tml-; copy the whole key", name)
	}
	return nil
}

// newCredential returns the key of the options, or Credential's if they have none.
func newCredential(ctx context.Context, o Options) (*credential, error) {
	err := checkKey(o.APIKey, o.KeyName)
	if err == nil || o.Credential == nil {
		return &credential{key: o.APIKey}, err
	}
	a := &credential{command: o.Credential}
	return a, a.ask(ctx)
}

// ask gets a new key from the command.
func (a *credential) ask(ctx context.Context) error {
	key, err := a.command(ctx)
	if err != nil {
		return userf("client: credential command: %w", err)
	}
	a.key = key
	return checkKey(key, "the credential command's output")
}

// Command returns a function that runs a shell command, such as TINKER_CREDENTIAL_CMD's, and returns its output.
func Command(line string) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		var out, said bytes.Buffer
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%q: %w: %.500s", line, err, bytes.TrimSpace(said.Bytes()))
		}
		return string(bytes.TrimSpace(out.Bytes())), nil
	}
}

// credential is the key, and the token for which it is exchanged if the server requires that.
type credential struct {
	key     string
	command func(ctx context.Context) (string, error) // returns the key for every exchange, if not nil

	mu      sync.Mutex // held during an exchange
	token   string     // empty: the key itself is sent
	expires time.Time  // zero: the token has no expiry
	next    time.Time  // time of the next exchange after a failed one
}

// token returns the key or token to send. A token that expires soon is exchanged first; if that fails, the old one is
// returned.
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

// exchange gets a new token; the caller holds the credential's lock, or no other goroutine has the client yet.
func (c *Client) exchange(ctx context.Context, wait time.Duration) error {
	if c.Credential != nil && c.config.KeySource == "credential_cmd" && !strings.HasPrefix(c.auth.key, "eyJ") {
		c.auth.command = c.Credential
	}
	if c.auth.command != nil {
		if err := c.auth.ask(ctx); err != nil {
			return err
		}
	}
	r := &apiRequest{method: "POST", path: "/auth/token", body: []byte("{}"), contentType: wire.JSON, anonymous: true,
		window: wait}
	if wait > 0 {
		r.retries = retries
	}
	var out wire.TokenResponse
	if err := c.into(ctx, r, &out); err != nil {
		return err
	}
	if out.JWT == "" {
		return serverf("client: %s returned no token for the API key", c.base)
	}
	c.auth.token, c.auth.expires = out.JWT, expiry(out.JWT)
	return nil
}

// expiry returns the claim exp of a JWT; the zero time if there is none.
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
