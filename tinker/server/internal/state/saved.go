package state

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// SavedCheckpoint is a checkpoint with its owner's decisions about it.
type SavedCheckpoint struct {
	tinker.Checkpoint
	Note   CheckpointSettings
	Tenant string
}

// Describe adds the server's records of a checkpoint; ok is false if its model is unknown here. The store is locked.
func (t *Store) Describe(c tinker.Checkpoint) (k SavedCheckpoint, ok bool) {
	path := c.Path.String()
	k = SavedCheckpoint{Checkpoint: c, Note: CheckpointSettings{Path: path, Seq: c.SeqID}}
	if m, marked := t.Marks[path][c.SeqID]; marked {
		k.Note = m
	}
	m := t.Models[c.Path.ModelID]
	if m == nil || t.Sessions[m.Session] == nil {
		return k, false
	}
	k.Tenant = t.Sessions[m.Session].Tenant
	return k, true
}

func (m CheckpointSettings) Expired(now time.Time) bool {
	return m.Expires != nil && !now.Before(*m.Expires)
}
