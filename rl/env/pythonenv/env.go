package pythonenv

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/replay"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// attempts is how often a call is made when its process is lost in it. Other environments may end the
// process too, so it is more than two.
const attempts = 3

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
	turns   int
	episode *replay.Episode[*remote, string, said]
	broken  error // why SampleAction failed; the next step returns it
}

// game says how the episode is played in processes.
func (e *Env) game() *replay.Game[*remote, string, said] {
	k, seed := e.kind, e.seed
	return &replay.Game[*remote, string, said]{
		From:    fmt.Sprintf("seed %d", seed),
		Open:    func() (*remote, error) { return k.open(e.kwargs, e.key) },
		Reset:   func(r *remote) (said, error) { return r.reset(seed) },
		Play:    (*remote).step,
		Heard:   said.heard,
		Free:    (*remote).rest,
		End:     (*remote).release,
		Context: k.source.ctx,
		Pauses:  make([]time.Duration, attempts),
		Lost: func(err error) bool {
			return errors.As(err, new(*python.Lost)) && !errors.Is(err, python.ErrClosed)
		},
	}
}

// leave keeps the environment for another episode.
func (e *Env) leave() {
	if e.episode != nil {
		e.episode.Leave()
	}
	e.episode, e.playing = nil, false
}

// Reset implements env.Env. The lower 32 bits of the seed, mixed with the upper, are the seed in Python.
func (e *Env) Reset(seed uint64) (env.Observation, error) {
	e.leave()
	e.seed, e.turns, e.broken = seed, 0, nil
	var first said
	var err error
	if e.episode, first, err = replay.Begin(e.game()); err != nil {
		return env.Observation{}, e.fail("reset", err)
	}
	e.playing = true
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
	e.turns++
	s, err := e.episode.Step(action)
	if err != nil {
		return env.Transition{}, e.fail(fmt.Sprintf("step %d", e.turns), err)
	}
	t := s.transition()
	if t.Done() {
		e.leave()
	}
	return t, nil
}

// Fork implements env.Env: a copy in Python, or a replay when it is played.
func (e *Env) Fork() env.Env {
	f := *e
	if !e.playing {
		f.episode = nil
		return &f
	}
	var copied *remote
	if r, here := e.episode.At(); here && e.kind.copies {
		copied, _ = r.fork() // else it is played again
	}
	f.episode = e.episode.Fork(f.game(), copied)
	return &f
}

// SampleAction implements env.Env with sample_random_action, or the action space of Gymnasium.
func (e *Env) SampleAction(r env.Draws) (action string) {
	seed := uint32(r.Uint64() >> 32)
	if !e.playing {
		return ""
	}
	err := e.episode.Do(func(at *remote) error {
		return at.call("env.sample", map[string]any{"env": at.number, "seed": seed, "parallel": e.kind.parallel},
			&action)
	})
	if err != nil && e.broken == nil {
		e.broken = err
	}
	return action
}

func (e *Env) fail(where string, err error) error {
	e.leave()
	err = failed(e.kind.id, where, err)
	e.kind.source.noteFailure(err)
	return err
}

// failed adds Python's traceback to an error.
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
