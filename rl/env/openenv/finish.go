package openenv

import (
	"errors"
	"fmt"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// finish ends an episode by the rules.
func (e *Env) finish(t env.Transition, stop bool) {
	how := "terminated"
	switch {
	case stop:
		how = "stopped"
	case t.Truncated:
		how = "truncated"
	}
	k := e.kind
	if !e.rewarded {
		k.unpaid.Do(func() {
			k.note("an episode came to its end without any reward (null): it counts as 0. If this is so in every " +
				"episode there is nothing to learn from")
		})
	}
	for _, s := range k.servers {
		s.played()
	}
	e.end(how, nil)
}

// end ends the episode, if one is played, and keeps its session for another one.
func (e *Env) end(how string, err error) {
	if e.playing {
		e.publish(how, err)
	}
	if e.playing = false; e.episode != nil {
		e.episode.Leave()
	}
	e.episode = nil
}

// publish hands the record of the episode on.
func (e *Env) publish(how string, err error) {
	record := e.kind.source.opts.Record
	if record == nil || e.record == nil {
		return
	}
	r := e.record
	r.Return, r.Turns, r.End = e.sum, e.turns, how
	if err != nil {
		r.Error = err.Error()
	}
	record(r)
}

// fail ends the episode as a failed one.
func (e *Env) fail(where string, err error) error {
	k := e.kind
	err = fmt.Errorf("env: %s: %s: %w", k.id, where, err)
	e.publish("failed", err)
	if e.playing = false; e.episode != nil {
		e.episode.Abandon()
	}
	e.episode = nil
	if errors.As(err, new(*hung)) {
		for _, s := range k.servers {
			k.source.background(func() { s.check(k.source.ctx) })
		}
	}
	k.source.noteFailure(err)
	return err
}
