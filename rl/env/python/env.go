package python

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// attempts is how often a call is made when its process is lost in it. What other environments do to the process
// counts too, so it is more than two.
const attempts = 3

// digest is what was said, to compare a replay with.
type digest [sha256.Size]byte

func digestOf(s said) digest {
	s.Metrics = nil            // may tell of the time, or of the episode before
	data, _ := json.Marshal(s) // text and finite numbers
	return sha256.Sum256(data)
}

// Env is an environment in Python. It implements env.Env.
//
// A step that fails loses the episode: Python raised, the environment hung, or its process was lost again and again.
// That is an error and never a reward.
type Env struct {
	kind   *kind
	kwargs map[string]any
	key    string // kwargs as JSON

	playing bool
	seed    uint64
	actions []string
	heard   []digest // of the reset and of every step
	at      *holder  // where the episode is; nil: nowhere yet, it has to be played again
	broken  error    // why SampleAction failed; the next step returns it
}

// holder owns a remote. When nobody holds the holder any more, the remote is closed.
type holder struct {
	*remote
	cleanup runtime.Cleanup
}

func hold(r *remote) *holder {
	h := &holder{remote: r}
	h.cleanup = runtime.AddCleanup(h, func(r *remote) { r.release() }, r)
	return h
}

// begin takes an environment for the episode.
func (e *Env) begin() error {
	r, err := e.kind.open(e.kwargs, e.key)
	if err == nil {
		e.at = hold(r)
	}
	return err
}

// leave keeps the environment for another episode.
func (e *Env) leave() {
	if e.at != nil {
		e.at.cleanup.Stop()
		e.at.rest()
		e.at = nil
	}
}

// abandon closes the environment, in which something failed.
func (e *Env) abandon() {
	if e.at != nil {
		e.at.cleanup.Stop()
		e.at.release()
		e.at = nil
	}
}

// Reset implements env.Env. The lower 32 bits of the seed, mixed with the upper, are the seed in Python.
func (e *Env) Reset(seed uint64) (env.Observation, error) {
	e.leave()
	e.seed, e.actions, e.heard, e.broken, e.playing = seed, nil, nil, nil, false
	var first said
	err := e.persist(func() (err error) {
		if err = e.begin(); err != nil {
			return err
		}
		first, err = e.at.reset(seed)
		return err
	})
	if err != nil {
		return env.Observation{}, e.fail("reset", err)
	}
	e.heard, e.playing = append(e.heard, digestOf(first)), true
	return first.transition().Observation, nil
}

// Step implements env.Env.
func (e *Env) Step(action string) (env.Transition, error) {
	if !e.playing {
		return env.Transition{}, env.ErrOver
	}
	if e.broken != nil {
		return env.Transition{}, e.fail("a random action", e.broken)
	}
	var s said
	err := e.persist(func() (err error) {
		if err = e.come(); err != nil {
			return err
		}
		s, err = e.at.step(action)
		return err
	})
	if err != nil {
		return env.Transition{}, e.fail(fmt.Sprintf("step %d", len(e.actions)+1), err)
	}
	e.actions, e.heard = append(e.actions, action), append(e.heard, digestOf(s))
	t := s.transition()
	if e.playing = !t.Done(); !e.playing {
		e.leave()
	}
	return t, nil
}

// Fork implements env.Env: a copy in Python, or a replay when it is played.
func (e *Env) Fork() env.Env {
	f := &Env{kind: e.kind, kwargs: e.kwargs, key: e.key, playing: e.playing, seed: e.seed, broken: e.broken,
		actions: slices.Clone(e.actions), heard: slices.Clone(e.heard)}
	if e.at != nil && e.playing && e.kind.copies {
		if r, err := e.at.fork(); err == nil {
			f.at = hold(r)
		} // else it is played again
	}
	return f
}

// SampleAction implements env.Env with sample_random_action, or the action space of Gymnasium.
func (e *Env) SampleAction(r env.Draws) (action string) {
	seed := uint32(r.Uint64() >> 32)
	if !e.playing {
		return ""
	}
	err := e.persist(func() error {
		if err := e.come(); err != nil {
			return err
		}
		return e.at.call("env.sample", map[string]any{"env": e.at.number, "seed": seed, "parallel": e.kind.parallel},
			&action)
	})
	if err != nil && e.broken == nil {
		e.broken = err
	}
	return action
}

// persist makes calls again that were lost with their process. After an error the environment is not used again.
func (e *Env) persist(f func() error) (err error) {
	for range attempts {
		err = f()
		runtime.KeepAlive(e)
		if err == nil {
			return nil
		}
		e.abandon()
		if !errors.As(err, new(*python.Lost)) || errors.Is(err, python.ErrClosed) {
			return err
		}
	}
	return err
}

// come brings the episode to where it is, if it is nowhere: by playing it again.
func (e *Env) come() (err error) {
	if e.at != nil {
		return nil
	}
	if err = e.begin(); err != nil {
		return err
	}
	s, err := e.at.reset(e.seed)
	for i := 0; err == nil; i++ {
		if digestOf(s) != e.heard[i] {
			return fmt.Errorf("played again from seed %d, action %d of %d is answered in another way, with %.200q: "+
				"the environment does not draw everything from reset's seed", e.seed, i, len(e.actions), s.Text)
		}
		if i == len(e.actions) {
			return nil
		}
		s, err = e.at.step(e.actions[i])
	}
	return err
}

func (e *Env) fail(where string, err error) error {
	e.playing = false
	err = failed(e.kind.id, where, err)
	e.kind.source.noteFailure(err)
	return err
}

// failed words an error with what Python says of it.
func failed(id, where string, err error) error {
	var raised *python.Error
	var cancelled *python.Cancelled
	switch {
	case errors.As(err, &raised):
		return fmt.Errorf("env: %s: %s: %w\n%s", id, where, err, strings.TrimRight(raised.Traceback, "\n"))
	case errors.As(err, &cancelled) && cancelled.Stack != "":
		return fmt.Errorf("env: %s: %s: %w; it was at\n%s", id, where, err, cancelled.Stack)
	}
	return fmt.Errorf("env: %s: %s: %w", id, where, err)
}
