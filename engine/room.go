package engine

import (
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

var (
	_ tinker.Bounded = (*Engine)(nil)
	_ tinker.Sized   = (*Engine)(nil)
)

// Room implements tinker.Bounded.
func (e *Engine) Room(work tinker.Work, owner string, tokens int) error {
	b := e.training
	if work == tinker.Sampling {
		b = e.sampling
	}
	return b.Room(owner, tokens)
}

// RoomForModel implements tinker.Sized.
func (e *Engine) RoomForModel(req tinker.CreateModelRequest) error {
	b, err := e.memory.Base(req.BaseModel)
	if err != nil {
		return err
	}
	if err := b.CheckRank(req.LoRA); err != nil {
		return err
	}
	return e.memory.RoomForRun(req.Owner, req.LoRA, b)
}

// RoomForState implements tinker.Sized.
func (e *Engine) RoomForState(req tinker.CreateFromStateRequest) error {
	m, _, _, err := e.store.Read(req.Path)
	if err != nil {
		return err
	}
	b, err := e.memory.Base(m.BaseModel)
	if err != nil {
		return fmt.Errorf("engine: checkpoint %s: %w", req.Path, err)
	}
	return e.memory.RoomForRun(req.Owner, m.LoRA, b)
}

// Memory returns the estimated bytes of all training runs and samplers, and their limit; 0 is no limit.
func (e *Engine) Memory() (used, total int64) {
	used, _ = e.memory.Now("")
	return used, e.memory.Total
}

// LoadedUntil reports whether the weights of a base model are in memory, and when they leave it if nothing uses them
// from now on; zero is never.
func (e *Engine) LoadedUntil(baseModel string) (at time.Time, loaded bool) {
	b := e.memory.Find(baseModel)
	if b == nil {
		return time.Time{}, false
	}
	return e.memory.Until(b)
}

// UnloadBase unloads the weights of a base model for an owner at once, unless a training run, a sampling client or a
// request uses them, or another owner has used them since they are in memory. It reports whether they are out of
// memory.
func (e *Engine) UnloadBase(baseModel, owner string) bool {
	b := e.memory.Find(baseModel)
	return b != nil && e.memory.Unload(b, owner)
}

// BaseMemory returns the bytes of the base weights in memory, computed from their shapes.
func (e *Engine) BaseMemory() int64 { return e.memory.InMemory() }
