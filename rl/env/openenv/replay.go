package openenv

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/env/replay"
)

// said is an answer of the server, with its text for the player.
type said struct {
	reply
	text string
}

// errSeedless is the end of an episode whose server ignores seeds.
var errSeedless = errors.New("the session is gone, and the episode cannot be played again, since the server ignores " +
	"seeds")

// game says how the episode is played on sessions.
func (e *Env) game() *replay.Game[*session, json.RawMessage, said] {
	k := e.kind
	drop := func(s *session) { k.source.background(func() { k.pool.drop(s) }) }
	g := &replay.Game[*session, json.RawMessage, said]{
		From: fmt.Sprintf("seed %d", e.seed),
		Open: k.session,
		Reset: func(s *session) (r said, err error) {
			r.reply, r.text, err = k.reset(k.source.ctx, s, e.seed, e.index, e.record)
			return r, err
		},
		Play:  e.act,
		Heard: func(r said) string { return fmt.Sprintf("%v %v %v %s", r.reward, r.rewarded, r.done, r.text) },
		Free:  k.pool.rest,
		End:   drop,
		Alive: func(s *session) bool { return s.alive() },

		Context:  k.source.ctx,
		Pauses:   k.source.pause,
		Lost:     func(err error) bool { return errors.As(err, new(*lost)) },
		Harmless: func(err error) bool { return errors.As(err, new(*mistake)) },
		Replayed: func() { e.record.Replays++ },
	}
	if k.fresh {
		g.Free = nil
	}
	if !k.steady {
		g.Fixed = errSeedless
	}
	return g
}

// session takes a session for an episode.
func (k *kind) session() (*session, error) {
	s, err := k.pool.take(k.source.ctx)
	for err == nil && k.fresh && s.resets > 0 {
		k.pool.drop(s)
		s, err = k.pool.take(k.source.ctx)
	}
	return s, err
}

// act sends one action.
func (e *Env) act(s *session, action json.RawMessage) (r said, err error) {
	k := e.kind
	r.reply, err = k.ask(k.source.ctx, s, "step", action, e.record)
	var f *fault
	if errors.As(err, &f) && f.Code == invalidAction {
		err = k.refusal(action, f)
	}
	if err == nil {
		r.text, err = k.answer(r.reply)
	}
	return r, err
}
