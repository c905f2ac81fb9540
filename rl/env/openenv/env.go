package openenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Env is an environment of a server. It implements env.Env.
//
// A failed step loses the episode: the environment raised, hung or answered garbage, or its session was lost and the
// episode cannot be played again. That is an error and never a reward.
type Env struct {
	kind  *kind
	task  int // of the split; env.Drawn: the seed draws it
	limit int // turns

	playing  bool
	seed     uint32
	index    int
	turns    int
	sent     []json.RawMessage // actions, in this episode
	heard    []digest          // of the reset and of every action
	sum      float64
	rewarded bool
	legal    []int   // numbers that the server called legal
	at       *holder // the session of the episode
	shared   *place  // or the one that forks share; both nil: nowhere yet, it has to be played again
	record   *Episode
}

// Reset implements env.Env. The lower 32 bits of the seed, mixed with the upper, are the seed of the server.
func (e *Env) Reset(seed uint64) (env.Observation, error) {
	e.end("left", nil)
	k, ctx := e.kind, e.kind.source.ctx
	e.seed, e.sent, e.heard, e.turns, e.sum, e.rewarded = uint32(seed^seed>>32), nil, nil, 0, 0, false
	e.record = &Episode{Env: k.id, Seed: e.seed, Answers: []string{}}
	if e.index = e.task; k.tasks != nil {
		if e.task == env.Drawn {
			e.index = int(seed % uint64(k.tasks.count))
		}
		index := e.index
		e.record.Split, e.record.Index = k.args.split, &index
		var err error
		if e.record.Task, err = k.taskOf(ctx, e.index); err != nil {
			return env.Observation{}, e.fail("reset", err)
		}
	}
	var text string
	err := e.persist(func() error {
		r, t, err := e.begin(ctx)
		if err == nil {
			text, e.heard = t, append(e.heard[:0], digestOf(t, r))
			e.legal = legalOf(r.observation)
		}
		return err
	})
	if err != nil && k.tasks != nil {
		err = k.tasks.shrunk(ctx, e.index, err)
	}
	if err != nil {
		return env.Observation{}, e.fail("reset", err)
	}
	e.playing = true
	o := env.Observation{Text: text, Suffix: k.args.template.suffix}
	if k.tools {
		o.Tools, o.Plain, o.Text = k.toolList, text, strings.TrimRight(text, "\n")+"\n\n"+k.toolText
	}
	return o, nil
}

// Step implements env.Env.
func (e *Env) Step(action string) (env.Transition, error) {
	if !e.playing {
		return env.Transition{}, env.ErrOver
	}
	e.turns++
	e.record.Answers = append(e.record.Answers, action)
	actions, stop, err := e.read(action)
	var t env.Transition
	if err == nil && !stop {
		t, err = e.play(actions)
	}
	var wrong *mistake
	switch {
	case errors.As(err, &wrong):
		t = env.Transition{Observation: env.Observation{Text: wrong.text, Suffix: e.kind.args.template.suffix},
			Reward: e.kind.args.invalid}
	case err != nil:
		return env.Transition{}, e.fail(fmt.Sprintf("step %d", e.turns), err)
	}
	t.Terminated = t.Terminated || stop
	t.Truncated = !t.Terminated && e.turns >= e.limit
	e.sum += t.Reward
	if t.Done() {
		e.finish(t, stop)
	}
	return t, nil
}

// read makes actions of an answer. stop says that the player ends the episode: with an empty answer, or where there are
// tools with one that calls none.
func (e *Env) read(answer string) (actions []json.RawMessage, stop bool, err error) {
	if strings.TrimSpace(answer) == "" {
		return nil, true, nil
	}
	if e.kind.tools {
		actions, err = e.kind.calls(answer)
		return actions, err == nil && len(actions) == 0, err
	}
	one, err := e.kind.action(answer)
	return []json.RawMessage{one}, false, err
}

// play sends the actions of a turn, one after the other, until the episode is over.
func (e *Env) play(actions []json.RawMessage) (t env.Transition, err error) {
	var texts []string
	for _, a := range actions {
		var r reply
		var text string
		err := e.persist(func() (err error) {
			r, text, err = e.act(a)
			return err
		})
		if err != nil {
			return t, err
		}
		e.sent, e.heard = append(e.sent, a), append(e.heard, digestOf(text, r))
		e.rewarded, e.legal = e.rewarded || r.rewarded, legalOf(r.observation)
		t.Reward += r.reward
		texts = append(texts, text)
		if t.Terminated = r.done; r.done {
			break
		}
	}
	t.Text, t.Suffix, t.Tool = strings.Join(texts, "\n"), e.kind.args.template.suffix, e.kind.tools
	return t, nil
}

// act sends one action, from the place where the episode is.
func (e *Env) act(action json.RawMessage) (reply, string, error) {
	k, ctx := e.kind, e.kind.source.ctx
	if err := e.come(ctx); err != nil {
		return reply{}, "", err
	}
	r, err := k.ask(ctx, e.at.session, "step", action, e.record)
	var f *fault
	if errors.As(err, &f) && f.Code == invalidAction {
		err = k.refusal(action, f)
	}
	if err != nil {
		return reply{}, "", err
	}
	text, err := k.answer(r)
	return r, text, err
}

// Fork implements env.Env. The first of the two that plays on keeps the session; the other plays the episode again.
func (e *Env) Fork() env.Env {
	if e.at != nil {
		e.shared, e.at = &place{h: e.at}, nil
	}
	f := *e
	f.sent, f.heard, f.legal = slices.Clone(e.sent), slices.Clone(e.heard), slices.Clone(e.legal)
	if e.record != nil {
		r := *e.record
		r.Answers, r.Messages = slices.Clone(r.Answers), slices.Clone(r.Messages)
		f.record = &r
	}
	return &f
}
