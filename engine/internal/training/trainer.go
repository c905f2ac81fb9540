// Package training is the state machine of a model: parameters, optimizer and gradient, and the requests that change
// them. The same requests in the same order give the same bits.
package training

import (
	"log/slog"
	"sync"
	"time"
	"weak"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/checkpoint"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/compute"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/fair"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/lifetime"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/spread"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
)

// Trainer makes training runs, and has what they compute with.
type Trainer struct {
	Options

	mu    sync.Mutex
	saved map[string]weak.Pointer[weights.Version] // by checkpoint path, while in use
}

// Options configure a trainer.
type Options struct {
	Numerics    string // full name of the arithmetic
	Memory      *weights.Memory
	Loop        *compute.Loop
	Store       *checkpoint.Store
	Spread      *spread.Spreader // nil: there are no other machines
	Group       *lifetime.Group
	Backlog     *fair.Backlog
	KeepResults int
	KeepBytes   int64
	Draw        func() uint64 // seeds that requests leave open
	Now         func() time.Time
	Log         *slog.Logger
}

func New(o Options) *Trainer {
	return &Trainer{Options: o, saved: map[string]weak.Pointer[weights.Version]{}}
}

// savedVersion is the version that a checkpoint was saved from or opened to, if it is in use.
func (t *Trainer) savedVersion(path string) *weights.Version {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.saved[path].Value()
}

func (t *Trainer) noteSaved(path string, v *weights.Version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.saved[path] = weak.Make(v)
}

// Forget forgets what a checkpoint was opened to; it is about to be deleted.
func (t *Trainer) Forget(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.saved, path)
}
