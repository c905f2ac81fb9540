package env

import (
	"fmt"
	"maps"
	"slices"
)

// Snapshot is a place in an episode as data: what was made, from which seed, and all that was said. It can be written
// down (as JSON) and restored in another process, since episodes are deterministic. Within a process Fork is cheaper.
type Snapshot struct {
	ID      string   `json:"env"`
	Params  Params   `json:"params,omitempty"` // those given to Make
	Seed    uint64   `json:"seed"`
	Actions []string `json:"actions,omitempty"`
}

// Recorder writes down what is needed to come back to the present place.
type Recorder struct {
	inner Env
	at    Snapshot
}

// NewRecorder wraps an environment that was made with id and params and perhaps wrapped already.
func NewRecorder(inner Env, id string, params Params) *Recorder {
	return &Recorder{inner, Snapshot{ID: id, Params: maps.Clone(params)}}
}

// Snapshot returns the present place. It means something once Reset was called.
func (r *Recorder) Snapshot() Snapshot {
	s := r.at
	s.Params, s.Actions = maps.Clone(s.Params), slices.Clone(s.Actions)
	return s
}

// Reset begins an episode.
func (r *Recorder) Reset(seed uint64) (Observation, error) {
	r.at.Seed, r.at.Actions = seed, nil
	return r.inner.Reset(seed)
}

// Step plays an action.
func (r *Recorder) Step(action string) (Transition, error) {
	t, err := r.inner.Step(action)
	if err == nil {
		r.at.Actions = append(r.at.Actions, action)
	}
	return t, err
}

// Fork copies the record and forks what it wraps.
func (r *Recorder) Fork() Env { return &Recorder{r.inner.Fork(), r.Snapshot()} }

// SampleAction is that of the wrapped environment.
func (r *Recorder) SampleAction(s Draws) string { return r.inner.SampleAction(s) }

// Restore makes the environment of a snapshot, wraps it and plays up to the place of the snapshot.
func (r *Registry) Restore(s Snapshot, wrappers ...Wrapper) (*Recorder, error) {
	inner, err := r.Make(s.ID, s.Params)
	if err != nil {
		return nil, err
	}
	e := NewRecorder(Wrap(inner, wrappers...), s.ID, s.Params)
	if _, err := e.Reset(s.Seed); err != nil {
		return nil, err
	}
	for i, a := range s.Actions {
		if _, err := e.Step(a); err != nil {
			return nil, fmt.Errorf("env: action %d of %d of a snapshot of %s: %w", i+1, len(s.Actions), s.ID, err)
		}
	}
	return e, nil
}
