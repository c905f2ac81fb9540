package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// savedCheckpoint is a checkpoint with its owner's decisions about it.
type savedCheckpoint struct {
	tinker.Checkpoint
	note   checkpointSettings
	tenant string
}

// readable returns a checkpoint that the tenant may read: its own, a public one, or the one of the access token.
func (s *Server) readable(tenant, path, token string) (savedCheckpoint, error) {
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
func (s *Server) own(tenant, path string) (savedCheckpoint, error) {
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
func (s *Server) ownOrDamaged(tenant, path string) (savedCheckpoint, error) {
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
func (s *Server) find(path string) (savedCheckpoint, error) {
	if _, err := tinker.ParsePath(path); err != nil {
		return savedCheckpoint{}, err
	}
	c, err := s.opts.Store.Checkpoint(path)
	if err != nil {
		return savedCheckpoint{}, err
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
func (t *serverState) describe(c tinker.Checkpoint) (k savedCheckpoint, ok bool) {
	path := c.Path.String()
	k = savedCheckpoint{Checkpoint: c, note: checkpointSettings{Path: path, Seq: c.SeqID}}
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

func (m checkpointSettings) expired(now time.Time) bool {
	return m.Expires != nil && !now.Before(*m.Expires)
}
