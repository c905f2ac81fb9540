package server

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// sessions are the clients' sessions.
type sessions struct {
	state    *store
	life     *life
	capacity *capacity
	names    *baseModels
	evict    func(modelID string) error
	keep     time.Duration // of a silent session without runs
}

// clientConfig configures the SDK's transport to this server: plain HTTP, zstd, concurrent chunks. It does not give up
// samples of which none has ended for two hours: long ones that are drawn together may take longer on a CPU.
func (s *sessions) clientConfig(*call) (any, error) {
	yes, no := true, false
	return wire.ClientConfig{ProtoCompressFwdBwd: true, ParallelFwdBwdChunks: &yes, UsePyqwestTransport: &no,
		CreateModelViaLoadWeights: true, SampleEnableStuckDetection: &no}, nil
}

func (s *sessions) dynamicConfig(*call) (any, error) {
	return wire.DynamicConfig{RefreshIntervalSec: 300, SampleCancelEnabled: true}, nil
}

// telemetry is dropped: it is meant for the SDK's developers and may contain keys.
func (s *sessions) telemetry(*call) (any, error) { return map[string]string{"status": "accepted"}, nil }

func (s *sessions) createSession(c *call, req wire.CreateSessionRequest) (any, error) {
	if req.ProjectID != "" {
		return nil, tinker.Userf("project_id is %q; this server has no projects, leave it (and TINKER_PROJECT_ID) out",
			req.ProjectID)
	}
	if err := checkTexts(req.DisplayName, req.SDKVersion, req.Tags, req.UserMetadata); err != nil {
		return nil, err
	}
	if err := s.capacity.disk(); err != nil {
		return nil, err
	}
	u := &session{ID: uuid(), Tenant: c.tenant, Created: s.life.now().UTC(), Tags: req.Tags,
		UserMetadata: texts(req.UserMetadata),
		DisplayName:  req.DisplayName, SDKVersion: req.SDKVersion, seen: s.life.now()}
	err := s.state.change(func(t *store) (int64, error) {
		at, err := s.state.record(recSession, u)
		if err == nil {
			t.sessions[u.ID] = u
		}
		return at, err
	})
	if err != nil {
		return nil, err
	}
	s.life.log.Info("session", "session", u.ID, "sdk", req.SDKVersion, "tenant", c.tenant[:8])
	return wire.CreateSessionResponse{Type: "create_session", SessionID: u.ID,
		InfoMessage: s.names.tokenizerAdvice(c)}, nil
}

// uuid draws an id that cannot be guessed, in the form of a version 4 UUID.
func uuid() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *sessions) heartbeat(c *call, req wire.Heartbeat) (any, error) {
	s.state.Lock()
	defer s.state.Unlock()
	u, err := s.state.session(c.tenant, req.SessionID)
	if err != nil {
		return nil, err
	}
	if u.Finished != "" {
		return nil, status(http.StatusGone, "session %s was finished by its client (%s)", req.SessionID, u.Finished)
	}
	u.seen = s.life.now()
	return wire.Heartbeat{Type: "session_heartbeat"}, nil
}
