package client

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Sessions are kept alive by a heartbeat; a server may end a session that is silent for minutes.
const (
	heartbeat = 10 * time.Second
	silence   = 2 * time.Minute
)

// session is a session of the server.
type session struct {
	id       string
	name     string             // the caller's; empty: this process's own
	reopened bool               // opened by an earlier process
	end      context.CancelFunc // of its heartbeat

	mu             sync.Mutex
	models, frozen int64 // the next model's and sampler's number
}

func (s *session) next(counter *int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	*counter++
	return *counter - 1
}

// session returns the session with a name; "" is this process's own.
func (c *Client) session(ctx context.Context, name string) (*session, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if s := c.sessions[name]; s != nil {
		return s, nil
	}
	s := &session{name: name}
	if id := c.Sessions[name]; id != "" && name != "" {
		s.id, s.reopened = id, true
	} else if err := c.createSession(ctx, name, s); err != nil {
		return nil, err
	}
	c.sessions[name] = s
	beating, end := context.WithCancel(c.ctx)
	s.end = end
	c.spawn(func(context.Context) { c.beat(beating, s) })
	return s, nil
}

// forget makes the next request open a new session, since the server no longer knows this one. A session that the
// caller named is kept, since the caller needs it to find its models.
func (c *Client) forget(s *session) bool {
	if s.name != "" {
		return false
	}
	c.opening.Lock()
	defer c.opening.Unlock()
	s.end()
	if c.sessions[s.name] == s {
		delete(c.sessions, s.name)
		c.Log(fmt.Sprintf("%s no longer knows session %s; a new one is opened", c.base, s.id))
	}
	return true
}

// inSession calls ask with a session, and once more with a new one if the server has lost the first.
func (c *Client) inSession(ctx context.Context, s **session, ask func() error) error {
	err := ask()
	if err == nil || !noSession(err) || !c.forget(*s) {
		return err
	}
	if *s, err = c.session(ctx, (*s).name); err != nil {
		return err
	}
	return ask()
}

func (c *Client) createSession(ctx context.Context, name string, s *session) error {
	r, err := post("/create_session", wire.CreateSessionRequest{Tags: []string{}, UserMetadata: map[string]any{},
		SDKVersion: sdkVersion, Type: "create_session"})
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
	if skyrlSession.MatchString(s.id) {
		c.kind.Store(int32(skyrl))
	}
	if name != "" && c.OnSession != nil {
		if err := c.OnSession(name, s.id); err != nil {
			return fmt.Errorf("client: session %s: %w", name, err)
		}
	}
	return nil
}

// beat keeps a session alive until ctx ends or the server has lost it.
func (c *Client) beat(ctx context.Context, s *session) {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for last, warned := time.Now(), false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r, err := post("/session_heartbeat", wire.Heartbeat{SessionID: s.id, Type: "session_heartbeat"})
		if err != nil {
			return // two strings are always JSON
		}
		r.timeout, r.retries, r.window = heartbeat, 0, 0
		resp, err := c.once(ctx, r, 0)
		switch {
		case err == nil && resp.status/100 == 2:
			last, warned = time.Now(), false
		case err == nil && resp.status == http.StatusNotFound && c.forget(s):
			return
		case time.Since(last) > silence && !warned:
			c.Log(fmt.Sprintf("no heartbeat has reached %s for %v; the server may end the session", c.base, silence))
			warned = true
		}
	}
}
