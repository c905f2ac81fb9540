package openenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/replay"
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
	sum      float64
	rewarded bool
	legal    []int // numbers that the server called legal
	episode  *replay.Episode[*session, json.RawMessage, said]
	record   *Episode
}

// Reset implements env.Env. The lower 32 bits of the seed, mixed with the upper, are the seed of the server.
func (e *Env) Reset(seed uint64) (env.Observation, error) {
	e.end("left", nil)
	k, ctx := e.kind, e.kind.source.ctx
	e.seed, e.turns, e.sum, e.rewarded = uint32(seed^seed>>32), 0, 0, false
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
	var r said
	var err error
	e.episode, r, err = replay.Begin(e.game())
	if err != nil && k.tasks != nil {
		err = k.tasks.shrunk(ctx, e.index, err)
	}
	if err != nil {
		return env.Observation{}, e.fail("reset", err)
	}
	e.playing, e.legal = true, legalOf(r.observation)
	text := r.text
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
		r, err := e.episode.Step(a)
		if err != nil {
			return t, err
		}
		e.rewarded, e.legal = e.rewarded || r.rewarded, legalOf(r.observation)
		t.Reward += r.reward
		texts = append(texts, r.text)
		if t.Terminated = r.done; r.done {
			break
		}
	}
	t.Text, t.Suffix, t.Tool = strings.Join(texts, "\n"), e.kind.args.template.suffix, e.kind.tools
	return t, nil
}

// Fork implements env.Env. The first of the two that plays on keeps the session; the other plays the episode again.
func (e *Env) Fork() env.Env {
	f := *e
	f.legal = slices.Clone(e.legal)
	if e.record != nil {
		r := *e.record
		r.Answers, r.Messages = slices.Clone(r.Answers), slices.Clone(r.Messages)
		f.record = &r
	}
	if e.episode != nil {
		f.episode = e.episode.Fork(f.game(), nil)
	}
	return &f
}
