package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/wire"
)

// checkpoints are what training runs have saved, with their owners' settings.
type checkpoints struct {
	state   *store
	life    *life
	tickets *signer
	edge    *edge
	store   Store
	remove  func(ctx context.Context, path string) error

	listed time.Time // when retention last listed all checkpoints; its alone
}

// Readable returns a checkpoint that the tenant may read: its own, a public one, or the one of the access token.
func (s *checkpoints) Readable(tenant, path, token string) (savedCheckpoint, error) {
	k, err := s.Find(path)
	if err != nil {
		return k, s.hidden(tenant, path, err)
	}
	if k.tenant == tenant || k.note.Public || token != "" && k.tenant == s.edge.tenant(token) {
		return k, nil
	}
	return k, notThere(path)
}

// own returns a checkpoint of the tenant.
func (s *checkpoints) own(tenant, path string) (savedCheckpoint, error) {
	k, err := s.Find(path)
	if err != nil {
		return k, s.hidden(tenant, path, err)
	}
	if k.tenant != tenant {
		err = notThere(path)
	}
	return k, err
}

// ownOrDamaged is own, and also finds the tenant's damaged checkpoints, so that their owner can delete them.
func (s *checkpoints) ownOrDamaged(tenant, path string) (savedCheckpoint, error) {
	k, err := s.own(tenant, path)
	if err == nil || errors.Is(err, tinker.ErrNotFound) {
		return k, err
	}
	k.Path, err = tinker.ParsePath(path)
	return k, err
}

// hidden is an error about a checkpoint as a tenant may see it: the damage of another tenant's checkpoint is not
// revealed.
func (s *checkpoints) hidden(tenant, path string, err error) error {
	p, bad := tinker.ParsePath(path)
	if bad != nil {
		return bad
	}
	if _, other := s.state.ownModel(tenant, p.ModelID); other != nil {
		return notThere(path)
	}
	return err
}

func notThere(path string) error { return fmt.Errorf("checkpoint %s: %w", path, tinker.ErrNotFound) }

// Find returns an existing checkpoint that has not expired.
func (s *checkpoints) Find(path string) (savedCheckpoint, error) {
	if _, err := tinker.ParsePath(path); err != nil {
		return savedCheckpoint{}, err
	}
	c, err := s.store.Checkpoint(path)
	if err != nil {
		return savedCheckpoint{}, err
	}
	s.state.Lock()
	k, ok := s.state.describe(c)
	s.state.Unlock()
	if !ok || k.note.expired(s.life.now()) {
		return k, notThere(path)
	}
	return k, nil
}

// unnamedPrefix begins the checkpoint names of samplers that have none. Users' names may not have this prefix.
const unnamedPrefix = "=unnamed-"

// maxTTL is the longest time to live.
const maxTTL = 10 * 365 * 24 * time.Hour

// checkSave refuses a name or a time to live that a checkpoint cannot have.
func checkSave(req wire.SaveRequest, name string) error {
	if err := tinker.CheckName(name); err != nil {
		return err
	}
	if strings.HasPrefix(name, "=") {
		return tinker.Userf("checkpoint name %q begins with =, which is reserved for the server's own names; "+
			"choose another", name)
	}
	if req.TTLSeconds != nil {
		return checkTTL(*req.TTLSeconds)
	}
	return nil
}

func checkTTL(seconds int64) error {
	if seconds < 1 || seconds > int64(maxTTL/time.Second) {
		return tinker.Userf("ttl_seconds is %d; it must be 1 to %d, or null to keep the checkpoint", seconds,
			int64(maxTTL/time.Second))
	}
	return nil
}

func expiry(now time.Time, seconds int64) *time.Time {
	t := now.Add(time.Duration(seconds) * time.Second)
	return &t
}
