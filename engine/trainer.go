package engine

import (
	"log/slog"
	"sync"
	"time"
	"weak"
)

// trainer makes training runs, and has what they compute with.
type trainer struct {
	trainerOptions

	mu    sync.Mutex
	saved map[string]weak.Pointer[version] // by checkpoint path, while in use
}

// trainerOptions configure a trainer.
type trainerOptions struct {
	numerics    string // full name of the arithmetic
	part        int    // most tokens of a part of a gradient
	memory      *memory
	loop        *computeLoop
	store       *store
	spread      *spreader // nil: there are no other machines
	group       *group
	backlog     *backlog
	keepResults int
	keepBytes   int64
	draw        func() uint64 // seeds that requests leave open
	now         func() time.Time
	log         *slog.Logger
}

func newTrainer(o trainerOptions) *trainer {
	return &trainer{trainerOptions: o, saved: map[string]weak.Pointer[version]{}}
}

// savedVersion is the version that a checkpoint was saved from or opened to, if it is in use.
func (t *trainer) savedVersion(path string) *version {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.saved[path].Value()
}

func (t *trainer) noteSaved(path string, v *version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.saved[path] = weak.Make(v)
}

// forget forgets what a checkpoint was opened to; it is about to be deleted.
func (t *trainer) forget(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.saved, path)
}
