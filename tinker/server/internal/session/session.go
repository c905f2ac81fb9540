// Package session serves clients' sessions.
package session

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/basemodel"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/capacity"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Sessions are the clients' sessions.
type Sessions struct {
	State    *state.Store
	Life     *life.Life
	Capacity *capacity.Capacity
	Names    *basemodel.Registry
	Evict    func(modelID string) error
	Keep     time.Duration // of a silent session without runs
}

// ClientConfig configures the SDK's transport to this server: plain HTTP, zstd, concurrent chunks. It does not give up
// samples of which none has ended for two hours: long ones that are drawn together may take longer on a CPU.
func (s *Sessions) ClientConfig(*edge.Call) (any, error) {
	yes, no := true, false
	return wire.ClientConfig{ProtoCompressFwdBwd: true, ParallelFwdBwdChunks: &yes, UsePyqwestTransport: &no,
		CreateModelViaLoadWeights: true, SampleEnableStuckDetection: &no}, nil
}

func (s *Sessions) DynamicConfig(*edge.Call) (any, error) {
	return wire.DynamicConfig{RefreshIntervalSec: 300, SampleCancelEnabled: true}, nil
}

// Telemetry is dropped: it is meant for the SDK's developers and may contain keys.
func (s *Sessions) Telemetry(*edge.Call) (any, error) {
	return map[string]string{"status": "accepted"}, nil
}

func (s *Sessions) CreateSession(c *edge.Call, req wire.CreateSessionRequest) (any, error) {
	if req.ProjectID != "" {
		return nil, tinker.Userf("project_id is %q; this server has no projects, leave it (and TINKER_PROJECT_ID) out",
			req.ProjectID)
	}
	if err := state.CheckTexts(req.DisplayName, req.SDKVersion, req.Tags, req.UserMetadata); err != nil {
		return nil, err
	}
	if err := s.Capacity.Disk(); err != nil {
		return nil, err
	}
	u := &state.Session{ID: uuid(), Tenant: c.Tenant, Created: s.Life.Now().UTC(), Tags: req.Tags,
		UserMetadata: state.Texts(req.UserMetadata),
		DisplayName:  req.DisplayName, SDKVersion: req.SDKVersion, Seen: s.Life.Now()}
	err := s.State.Change(func(t *state.Store) (int64, error) {
		at, err := s.State.Record(state.RecSession, u)
		if err == nil {
			t.Sessions[u.ID] = u
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	s.Life.Log.Info("session", "session", u.ID, "sdk", req.SDKVersion, "tenant", c.Tenant[:8])
	return wire.CreateSessionResponse{Type: "create_session", SessionID: u.ID,
		InfoMessage: s.Names.TokenizerAdvice(c)}, nil
}

// uuid draws an id that cannot be guessed, in the form of a version 4 UUID.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Sessions) Heartbeat(c *edge.Call, req wire.Heartbeat) (any, error) {
	s.State.Lock()
	defer s.State.Unlock()
	u, err := s.State.Session(c.Tenant, req.SessionID)
	if err != nil {
		return nil, err
	}
	if u.Finished != "" {
		return nil, edge.Status(http.StatusGone, "session %s was finished by its client (%s)", req.SessionID,
			u.Finished)
	}
	u.Seen = s.Life.Now()
	return wire.Heartbeat{Type: "session_heartbeat"}, nil
}
