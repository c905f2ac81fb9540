package tool

import (
	"context"

	"github.com/seed-d9ad8ee0/trinity/rl/outside"
)

// World is the tools of environments. It implements outside.World.
type World struct {
	Staged bool // as of Options

	box *Box
}

// Claims implements outside.World. Rows may name environments too, and a Box opens nothing before it is asked to.
func (w *World) Claims(outside.Named) bool { return true }

// Open implements outside.World.
func (w *World) Open(_ context.Context, _ outside.Named, s outside.Site) (outside.Parts, error) {
	w.box = NewBox(Options{LookupEnv: s.LookupEnv, Note: s.Note, Staged: w.Staged})
	return outside.Parts{Tools: w.box}, nil
}

// Close implements outside.World.
func (w *World) Close() error {
	if w.box == nil {
		return nil
	}
	return w.box.Close()
}
