package endpoints

import (
	"context"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// latest is the tag that Ollama's clients add to a name without one.
const latest = ":latest"

// weightsInMemory is a Store that knows the base weights in memory, such as engine.Engine.
type weightsInMemory interface {
	// LoadedUntil reports whether base weights are in memory, and when they leave if nothing uses them; zero is never.
	LoadedUntil(baseModel string) (at time.Time, loaded bool)
	// UnloadBase unloads base weights that nothing uses and that no other owner has used, and reports whether they are
	// out of memory.
	UnloadBase(baseModel, owner string) bool
}

// Loaded implements endpoint.LoadedModels: the base models whose weights are in memory, and the tenant's checkpoints
// that requests without a sampling session use.
func (s *Endpoints) Loaded(ctx context.Context, tenant string) ([]endpoint.Card, error) {
	cards, err := s.List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	engine, _ := s.Store.(weightsInMemory)
	held := s.Weights.LentUntil(tenant)
	var loaded []endpoint.Card
	for _, c := range cards {
		there := false
		if strings.HasPrefix(c.ID, "tinker://") {
			c.Until, there = held[c.ID]
		} else if engine != nil {
			c.Until, there = engine.LoadedUntil(s.Names.BaseName(c.ID))
		}
		if there {
			loaded = append(loaded, c)
		}
	}
	return loaded, nil
}

// Unload implements endpoint.LoadedModels: weights that no other request, sampling session or training run uses leave
// memory at once, those of a base model only if no other tenant has used them.
func (s *Endpoints) Unload(ctx context.Context, tenant, name string) error {
	key, err := s.find(tenant, name)
	if err != nil {
		return err
	}
	if _, err := s.Names.ContextOf(ctx, key.Base); err != nil {
		return err
	}
	s.Weights.Unload(key)
	if engine, ok := s.Store.(weightsInMemory); ok && key.Path == "" {
		engine.UnloadBase(key.Base, tenant)
	}
	return nil
}
