// Package checkpoint serves checkpoints: who may read them, lists, settings, downloads, expiry.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/edge"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/life"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/state"
	"github.com/seed-d9ad8ee0/trinity/tinker/server/internal/ticket"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// Checkpoints are the checkpoints of training runs, with their owners' settings.
type Checkpoints struct {
	State   *state.Store
	Life    *life.Life
	Tickets *ticket.Signer
	Edge    *edge.Edge
	Store   Store
	Remove  func(ctx context.Context, path string) error

	listed time.Time // when retention last listed all checkpoints; its alone
}

// Readable returns a checkpoint that the tenant may read: its own, a public one, or the one of the access token.
func (s *Checkpoints) Readable(tenant, path, token string) (state.SavedCheckpoint, error) {
	k, err := s.Find(path)
	if err != nil {
		return k, s.hidden(tenant, path, err)
	}
	if k.Tenant == tenant || k.Note.Public || token != "" && k.Tenant == s.Edge.Tenant(token) {
		return k, nil
	}
	return k, notThere(path)
}

// own returns a checkpoint of the tenant.
func (s *Checkpoints) own(tenant, path string) (state.SavedCheckpoint, error) {
	k, err := s.Find(path)
	if err != nil {
		return k, s.hidden(tenant, path, err)
	}
	if k.Tenant != tenant {
		err = notThere(path)
	}
	return k, err
}

// ownOrDamaged is own, and also finds the tenant's damaged checkpoints, so that their owner can delete them.
func (s *Checkpoints) ownOrDamaged(tenant, path string) (state.SavedCheckpoint, error) {
	k, err := s.own(tenant, path)
	if err == nil || errors.Is(err, tinker.ErrNotFound) {
		return k, err
	}
	k.Path, err = tinker.ParsePath(path)
	return k, err
}

// hidden is an error about a checkpoint as a tenant may see it: the damage of another tenant's checkpoint is not
// revealed.
func (s *Checkpoints) hidden(tenant, path string, err error) error {
	p, bad := tinker.ParsePath(path)
	if bad != nil {
		return bad
	}
	if _, other := s.State.OwnModel(tenant, p.ModelID); other != nil {
		return notThere(path)
	}
	return err
}

func notThere(path string) error { return fmt.Errorf("checkpoint %s: %w", path, tinker.ErrNotFound) }

// Find returns an existing checkpoint that has not expired.
func (s *Checkpoints) Find(path string) (state.SavedCheckpoint, error) {
	if _, err := tinker.ParsePath(path); err != nil {
		return state.SavedCheckpoint{}, err
	}
	c, err := s.Store.Checkpoint(path)
	if err != nil {
		return state.SavedCheckpoint{}, err
	}
	s.State.Lock()
	k, ok := s.State.Describe(c)
	s.State.Unlock()
	if !ok || k.Note.Expired(s.Life.Now()) {
		return k, notThere(path)
	}
	return k, nil
}

// UnnamedPrefix begins the checkpoint names of samplers that have none. Users' names may not have this prefix.
const UnnamedPrefix = "=unnamed-"

// maxTTL is the longest time to live.
const maxTTL = 10 * 365 * 24 * time.Hour

// CheckSave refuses a name or a time to live that a checkpoint cannot have.
func CheckSave(req wire.SaveRequest, name string) error {
	if err := tinker.CheckName(name); err != nil {
		return err
	}
	if strings.HasPrefix(name, "=") {
		return tinker.Userf("checkpoint name %q begins with =, which is reserved for the server's own names; "+
			"choose another", name)
	}
	if req.TTLSeconds != nil {
		return CheckTTL(*req.TTLSeconds)
	}
	return nil
}

// CheckTTL refuses a time to live that a checkpoint cannot have.
func CheckTTL(seconds int64) error {
	if seconds < 1 || seconds > int64(maxTTL/time.Second) {
		return tinker.Userf("ttl_seconds is %d; it must be 1 to %d, or null to keep the checkpoint", seconds,
			int64(maxTTL/time.Second))
	}
	return nil
}

func Expiry(now time.Time, seconds int64) *time.Time {
	t := now.Add(time.Duration(seconds) * time.Second)
	return &t
}

// Store lists and reads the checkpoints of the Backend, such as engine.Engine.
type Store interface {
	Checkpoints(ctx context.Context) ([]tinker.Checkpoint, error)
	Checkpoint(path string) (tinker.Checkpoint, error)
	// Folder returns the folder of a checkpoint's files, for reading.
	Folder(path string) (string, error)
	// CopyCheckpoint saves a copy of a checkpoint under another path.
	CopyCheckpoint(from string, to tinker.Path) error
}

// Exporter is a Store that exports some files of a checkpoint in another form than they are saved in, such as
// engine.Engine.
type Exporter interface {
	Export(path string) ([]tinker.ExportFile, error)
}
