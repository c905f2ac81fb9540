package selfdriven

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/replay"
)

// Env plays episodes. It implements env.Env. A fork plays its episode from the beginning, with the same answers, unless
// it is the first of those that share one to play on.
type Env struct {
	source *Source
	task   int // env.Drawn: the seed draws it

	playing bool
	index   int
	played  *replay.Episode[*run, string, *call]
}

// run is an episode with the call that waits for an answer; nil: it is over.
type run struct {
	*episode
	waiting *call
}

// next waits for the next call.
func (r *run) next() (c *call, err error) {
	r.waiting, err = r.await()
	return r.waiting, err
}

// game says how the episode is played.
func (e *Env) game() *replay.Game[*run, string, *call] {
	s, index := e.source, e.index
	return &replay.Game[*run, string, *call]{
		From: fmt.Sprintf("task %d", index),
		Open: func() (*run, error) {
			one, err := s.begin(index)
			return &run{episode: one}, err
		},
		Reset: func(r *run) (*call, error) {
			first, err := r.next()
			if err == nil && first == nil {
				err = errors.New("the episode ended before the model was asked")
			}
			return first, err
		},
		Play: func(r *run, answer string) (*call, error) {
			r.waiting.answer <- answer
			return r.next()
		},
		Heard: func(c *call) string {
			if c == nil {
				return ""
			}
			return c.prompt
		},
		End:     func(r *run) { r.end(errLeft) },
		Context: s.ctx,
		Pauses:  make([]time.Duration, 1),
	}
}

// Reset implements env.Env.
func (e *Env) Reset(seed uint64) (env.Observation, error) {
	e.leave()
	if e.index = e.task; e.task == env.Drawn {
		e.index = int(seed % uint64(e.source.o.Tasks.Len()))
	}
	var first *call
	var err error
	if e.played, first, err = replay.Begin(e.game()); err != nil {
		return env.Observation{}, e.fail(err)
	}
	e.playing = true
	return env.Observation{Text: first.prompt}, nil
}

// leave ends the episode that is being played, if there is one.
func (e *Env) leave() {
	if e.played != nil {
		e.played.Leave()
	}
	e.played, e.playing = nil, false
}

// Step implements env.Env.
func (e *Env) Step(action string) (t env.Transition, err error) {
	if !e.playing {
		return t, env.ErrOver
	}
	next, err := e.played.Step(action)
	switch {
	case err != nil:
		return t, e.fail(err)
	case next != nil:
		t.Text = next.prompt
		return t, nil
	}
	over, _ := e.played.At()
	part, err := over.reward()
	if err != nil {
		return t, e.fail(err)
	}
	e.leave()
	t.Terminated, t.Reward, t.Metrics = true, part.Reward, part.Metrics
	return t, nil
}

// fail ends the episode and says which one failed.
func (e *Env) fail(err error) error {
	e.leave()
	err = fmt.Errorf("env: %s: task %d: %w", e.source.o.ID, e.index, err)
	if e.source.ctx.Err() == nil {
		e.source.o.Failed(err)
	}
	return err
}

// Fork implements env.Env.
func (e *Env) Fork() env.Env {
	f := *e
	if e.played != nil {
		f.played = e.played.Fork(f.game(), nil)
	}
	return &f
}

// SampleAction implements env.Env.
func (e *Env) SampleAction(r env.Draws) string {
	if !e.playing {
		return ""
	}
	return e.source.o.Random[r.IntN(len(e.source.o.Random))]
}
