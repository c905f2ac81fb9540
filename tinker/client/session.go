package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Sessions are kept alive by a heartbeat; a server may end one that is silent for minutes.
const (
	heartbeat = 10 * time.Second
	silence   = 2 * time.Minute
)

// session is a session of the server.
type session struct {
	id       string
	reopened bool // it was there before this process

	mu             sync.Mutex
	models, frozen int64 // the next model's and sampler's number
}

func (s *session) next(counter *int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	*counter++
	return *counter - 1
}

// session returns the session of a name; "" is this process's own.
func (c *Client) session(ctx context.Context, name string) (*session, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if s := c.sessions[name]; s != nil {
		return s, nil
	}
	s := &session{}
	if id := c.Sessions[name]; id != "" && name != "" {
		s.id, s.reopened = id, true
	} else if err := c.createSession(ctx, name, s); err != nil {
		return nil, err
	}
	c.sessions[name] = s
	c.spawn(func(ctx context.Context) { c.beat(ctx, s.id) })
	return s, nil
}

func (c *Client) createSession(ctx context.Context, name string, s *session) error {
	r, err := post("/create_session", wire.CreateSessionRequest{Tags: []string{}, UserMetadata: map[string]any{}, SDKVersion: sdkVersion, Type: "create_session"})
	if err != nil {
		return err
	}
	r.window = 0
	var out wire.CreateSessionResponse
	if err := c.into(ctx, r, &out); err != nil {
		return err
	}
	for _, msg := range []string{out.InfoMessage, out.WarningMessage, out.ErrorMessage} {
		if msg != "" {
			c.Log("the server says: " + msg)
		}
	}
	if out.SessionID == "" {
		return serverf("client: %s opened a session without an id", c.base)
	}
	s.id = out.SessionID
	if name != "" && c.OnSession != nil {
		if err := c.OnSession(name, s.id); err != nil {
			return fmt.Errorf("client: session %s: %w", name, err)
		}
	}
	return nil
}

// beat keeps a session alive until ctx ends.
func (c *Client) beat(ctx context.Context, id string) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for last, warned := time.Now(), false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r, err := post("/session_heartbeat", wire.Heartbeat{SessionID: id, Type: "session_heartbeat"})
		if err != nil {
			return // two strings are always JSON
		}
		r.timeout, r.retries, r.window = heartbeat, 0, 0
		resp, err := c.once(ctx, r, 0)
		switch {
		case err == nil && resp.status/100 == 2:
			last, warned = time.Now(), false
		case time.Since(last) > silence && !warned:
			c.Log(fmt.Sprintf("no heartbeat has reached %s for %v; the server may end the session", c.base, silence))
			warned = true
		}
	}
}
