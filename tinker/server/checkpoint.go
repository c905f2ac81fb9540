package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// saved is a checkpoint with its owner's decisions about it.
type saved struct {
	tinker.Checkpoint
	note   mark
	tenant string
}

// readable returns a checkpoint that the tenant may read: its own, a public one, or the one of the access token.
func (s *Server) readable(tenant, path, token string) (saved, error) {
	k, err := s.find(path)
	if err != nil {
		return k, s.hidden(tenant, path, err)
	}
	if k.tenant == tenant || k.note.Public || token != "" && k.tenant == s.tenant(token) {
		return k, nil
	}
	return k, notThere(path)
}

// own returns a checkpoint of the tenant.
func (s *Server) own(tenant, path string) (saved, error) {
	k, err := s.find(path)
	if err != nil {
		return k, s.hidden(tenant, path, err)
	}
	if k.tenant != tenant {
		err = notThere(path)
	}
	return k, err
}

// ownOrDamaged is own, and also finds the tenant's damaged checkpoints, so that their owner can delete them.
func (s *Server) ownOrDamaged(tenant, path string) (saved, error) {
	k, err := s.own(tenant, path)
	if err == nil || errors.Is(err, tinker.ErrNotFound) {
		return k, err
	}
	k.Path, err = tinker.ParsePath(path)
	return k, err
}

// hidden is an error about a checkpoint as a tenant may see it: the damage of another tenant's checkpoint is not
// revealed.
func (s *Server) hidden(tenant, path string, err error) error {
	p, bad := tinker.ParsePath(path)
	if bad != nil {
		return bad
	}
	if _, other := s.ownModel(tenant, p.ModelID); other != nil {
		return notThere(path)
	}
	return err
}

func notThere(path string) error { return fmt.Errorf("checkpoint %s: %w", path, tinker.ErrNotFound) }

// find returns an existing checkpoint that has not expired.
func (s *Server) find(path string) (saved, error) {
	if _, err := tinker.ParsePath(path); err != nil {
		return saved{}, err
	}
	c, err := s.opts.Store.Checkpoint(path)
	if err != nil {
		return saved{}, err
	}
	s.mu.Lock()
	k, ok := s.state.describe(c)
	s.mu.Unlock()
	if !ok || k.note.expired(s.opts.Now()) {
		return k, notThere(path)
	}
	return k, nil
}

// describe adds the server's records of a checkpoint; ok is false if its model is unknown here. s.mu is held.
func (t *state) describe(c tinker.Checkpoint) (k saved, ok bool) {
	path := c.Path.String()
	k = saved{Checkpoint: c, note: mark{Path: path, Seq: c.SeqID}}
	if m, marked := t.marks[path][c.SeqID]; marked {
		k.note = m
	}
	m := t.models[c.Path.ModelID]
	if m == nil || t.sessions[m.Session] == nil {
		return k, false
	}
	k.tenant = t.sessions[m.Session].Tenant
	return k, true
}

func (m mark) expired(now time.Time) bool { return m.Expires != nil && !now.Before(*m.Expires) }
