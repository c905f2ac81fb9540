package server

import (
	"crypto/rand"
	"fmt"
	"net/http"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// clientConfig configures the SDK's transport to this server: plain HTTP, zstd, concurrent chunks. It does not give up
// samples of which none has ended for two hours: long ones that are drawn together may take longer on a CPU.
func (s *Server) clientConfig(*call) (any, error) {
	yes, no := true, false
	return wire.ClientConfig{ProtoCompressFwdBwd: true, ParallelFwdBwdChunks: &yes, UsePyqwestTransport: &no,
		CreateModelViaLoadWeights: true, SampleEnableStuckDetection: &no}, nil
}

func (s *Server) dynamicConfig(*call) (any, error) {
	return wire.DynamicConfig{RefreshIntervalSec: 300, SampleCancelEnabled: true}, nil
}

// telemetry is dropped: it is meant for the SDK's developers and may contain keys.
func (s *Server) telemetry(*call) (any, error) { return map[string]string{"status": "accepted"}, nil }

func (s *Server) createSession(c *call, req wire.CreateSessionRequest) (any, error) {
	if req.ProjectID != "" {
		return nil, tinker.Userf("project_id is %q; this server has no projects, leave it (and TINKER_PROJECT_ID) out",
			req.ProjectID)
	}
	if err := checkTexts(req.DisplayName, req.SDKVersion, req.Tags, req.UserMetadata); err != nil {
		return nil, err
	}
	if err := s.room(); err != nil {
		return nil, err
	}
	u := &session{ID: uuid(), Tenant: c.tenant, Created: s.opts.Now().UTC(), Tags: req.Tags,
		UserMetadata: texts(req.UserMetadata),
		DisplayName:  req.DisplayName, SDKVersion: req.SDKVersion, seen: s.opts.Now()}
	err := s.change(func(t *serverState) (int64, error) {
		at, err := s.record(recSession, u)
		if err == nil {
			t.sessions[u.ID] = u
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	s.opts.Log.Info("session", "session", u.ID, "sdk", req.SDKVersion, "tenant", c.tenant[:8])
	return wire.CreateSessionResponse{Type: "create_session", SessionID: u.ID, InfoMessage: s.tokenizerAdvice(c)}, nil
}

// uuid draws an id that cannot be guessed, in the form of a version 4 UUID.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Server) heartbeat(c *call, req wire.Heartbeat) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.state.session(c.tenant, req.SessionID)
	if err != nil {
		return nil, err
	}
	if u.Finished != "" {
		return nil, status(http.StatusGone, "session %s was finished by its client (%s)", req.SessionID, u.Finished)
	}
	u.seen = s.opts.Now()
	return wire.Heartbeat{Type: "session_heartbeat"}, nil
}

// session returns a tenant's session. s.mu is held.
func (t *serverState) session(tenant, id string) (*session, error) {
	u := t.sessions[id]
	if u == nil || u.Tenant != tenant {
		return nil, fmt.Errorf("session %q: %w", id, tinker.ErrNotFound)
	}
	return u, nil
}

// active returns a tenant's session that accepts new work. s.mu is held.
func (t *serverState) active(tenant, id string) (*session, error) {
	u, err := t.session(tenant, id)
	if err == nil && u.Finished != "" {
		return nil, tinker.Userf("session %s was finished by its client (%s); begin a new one", id, u.Finished)
	}
	return u, err
}
