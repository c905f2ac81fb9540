package env

import (
	"fmt"
	"maps"
	"slices"
)

// Snapshot is a position in an episode as data: the environment, the seed and the actions so far. It can be stored as
// JSON and restored in another process, since episodes are deterministic. Within a process Fork is cheaper.
type Snapshot struct {
	ID      string   `json:"env"`
	Params  Params   `json:"params,omitempty"` // those given to Make
	Seed    uint64   `json:"seed"`
	Actions []string `json:"actions,omitempty"`
}

// Recorder records the position of an episode.
type Recorder struct {
	Env // the wrapped one
	at  Snapshot
}

// NewRecorder wraps an environment that was made with id and params and perhaps wrapped already.
func NewRecorder(inner Env, id string, params Params) *Recorder {
	return &Recorder{inner, Snapshot{ID: id, Params: maps.Clone(params)}}
}

// Snapshot returns the position. Call Reset first.
func (r *Recorder) Snapshot() Snapshot {
	s := r.at
	s.Params, s.Actions = maps.Clone(s.Params), slices.Clone(s.Actions)
	return s
}

// Reset begins an episode.
func (r *Recorder) Reset(seed uint64) (Observation, error) {
	r.at.Seed, r.at.Actions = seed, nil
	return r.Env.Reset(seed)
}

// Step plays an action.
func (r *Recorder) Step(action string) (Transition, error) {
	t, err := r.Env.Step(action)
	if err == nil {
		r.at.Actions = append(r.at.Actions, action)
	}
	return t, err
}

// Fork copies the record and forks the wrapped environment.
func (r *Recorder) Fork() Env { return &Recorder{r.Env.Fork(), r.Snapshot()} }

// Restore makes the environment of a snapshot, wraps it and plays to the snapshot's position.
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
