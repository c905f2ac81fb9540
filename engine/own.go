package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/roofline"
)

// Executor returns the executor that this engine is itself, for answers of others that are checked or that nobody else
// gives. It computes with the engine's base models and threads; blobs gives adapters and full parameters.
func (e *Engine) Executor(blobs executor.Blobs) executor.Executor {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.self == nil {
		e.self = &Local{e: e, limit: 1 << 30, bases: map[string]*base{}}
	}
	return e.self.With(ownSource{blobs, e})
}

// ownSource gives an engine its own base models.
type ownSource struct {
	executor.Blobs
	e *Engine
}

// Base implements Source.
func (s ownSource) Base(_ context.Context, v executor.Version) (string, error) {
	b, err := s.e.byFingerprint(v)
	if err != nil {
		return "", err
	}
	return b.dir, nil
}

// byFingerprint returns the engine's base model of a version.
func (e *Engine) byFingerprint(v executor.Version) (*base, error) {
	for _, name := range slices.Sorted(maps.Keys(e.bases)) {
		b := e.bases[name]
		if b.adapter != "" {
			continue
		}
		if print, err := b.fingerprint(v.Full()); err == nil && print == v.Base {
			return b, nil
		}
	}
	return nil, fmt.Errorf("engine: base model %.20s is none of this engine's", v.Base)
}

// Speed is how fast this engine's threads can multiply, in GFLOP/s; measuring takes about 0.1 s.
func (e *Engine) Speed() float64 { return roofline.Peak(e.compute.K, e.compute.P) }

// Speed is Engine.Speed of the executor.
func (l *Local) Speed() float64 { return l.e.Speed() }
