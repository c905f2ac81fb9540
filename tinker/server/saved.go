package server

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// savedCheckpoint is a checkpoint with its owner's decisions about it.
type savedCheckpoint struct {
	tinker.Checkpoint
	note   checkpointSettings
	tenant string
}

// describe adds the server's records of a checkpoint; ok is false if its model is unknown here. The store is locked.
func (t *store) describe(c tinker.Checkpoint) (k savedCheckpoint, ok bool) {
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
