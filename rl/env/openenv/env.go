package openenv

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// digest is what was said, to compare a replay with.
type digest [sha256.Size]byte

func digestOf(text string, r reply) digest {
	return sha256.Sum256(fmt.Appendf(nil, "%v %v %v %s", r.reward, r.rewarded, r.done, text))
}

// holder owns a session. When nobody holds the holder any more, the session is closed.
type holder struct {
	*session
	cleanup runtime.Cleanup
}

func (e *Env) hold(s *session) *holder {
	h := &holder{session: s}
	k := e.kind
	h.cleanup = runtime.AddCleanup(h, func(s *session) { k.source.background(func() { k.pool.drop(s) }) }, s)
	return h
}

// place is the session that an Env and its forks share until one of them plays on: it takes the session, and the others
// play the episode again when their turn comes.
type place struct {
	mu sync.Mutex
	h  *holder
}

func (p *place) take() *holder {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.h
	p.h = nil
	return h
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

// begin takes a session and resets it.
func (e *Env) begin(ctx context.Context) (reply, string, error) {
	k := e.kind
	s, err := k.pool.take(ctx)
	for err == nil && k.fresh && s.resets > 0 {
		k.pool.drop(s)
		s, err = k.pool.take(ctx)
	}
	if err != nil {
		return reply{}, "", err
	}
	e.at = e.hold(s)
	return k.reset(ctx, s, e.seed, e.index, e.record)
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
	var text string
	if k.tools {
		text, err = answered(r.observation)
	} else {
		text, err = k.text(r, k.args.template.show)
	}
	return r, text, err
}

// come brings the episode to where it is, if it is nowhere: by playing it again.
func (e *Env) come(ctx context.Context) error {
	if e.at == nil && e.shared != nil {
		e.at, e.shared = e.shared.take(), nil
	}
	if e.at != nil && (e.at.alive() || !e.kind.steady) {
		return nil
	}
	e.abandon()
	if !e.kind.steady {
		return errors.New("the session is gone, and the episode cannot be played again, since the server ignores seeds")
	}
	e.record.Replays++
	r, text, err := e.begin(ctx)
	for i := 0; err == nil; i++ {
		if digestOf(text, r) != e.heard[i] {
			return fmt.Errorf("played again from seed %d, action %d of %d is answered in another way, with %q: the "+
				"environment does not draw everything from reset's seed", e.seed, i, len(e.sent), cut(text, 200))
		}
		if i == len(e.sent) {
			return nil
		}
		r, text, err = e.act(e.sent[i])
	}
	return err
}

// persist makes calls again that were lost with their session. After an error other than a player's mistake the session
// is not used again.
func (e *Env) persist(f func() error) (err error) {
	for _, pause := range e.kind.source.pause {
		if pause > 0 {
			if serr := sleep(e.kind.source.ctx, pause); serr != nil {
				return serr
			}
		}
		err = f()
		runtime.KeepAlive(e)
		if err == nil || errors.As(err, new(*mistake)) {
			return err
		}
		e.abandon()
		if !errors.As(err, new(*lost)) || e.kind.source.ctx.Err() != nil || len(e.heard) > 0 && !e.kind.steady {
			return err
		}
	}
	return err
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

// SampleAction implements env.Env: what the template lists, a value that the schema of actions allows, or a call of a
// tool.
func (e *Env) SampleAction(r env.Draws) string {
	if !e.playing {
		return ""
	}
	k := e.kind
	switch list := k.args.template.random; {
	case list != nil:
		return list[r.IntN(len(list))]
	case k.tools:
		return k.sampleCall(r)
	}
	field := k.args.template.fill
	if field == "" {
		field = k.schema.only()
	}
	one := k.schema.Properties[field]
	if one != nil && one.is("integer") && len(e.legal) > 0 {
		return strconv.Itoa(e.legal[r.IntN(len(e.legal))])
	}
	var v any = k.schema.object(r, k.schema.Defs, 0)
	if k.args.template.fill != "" {
		v = one.sample(r, k.schema.Defs, 0)
	}
	if text, is := v.(string); is {
		return text
	}
	data, err := encode(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// legalOf are the numbers that an observation calls legal, as the environments of games do.
func legalOf(observation json.RawMessage) []int {
	var o struct {
		Actions []int `json:"legal_actions"`
		Moves   []int `json:"legal_moves"`
	}
	if json.Unmarshal(observation, &o) != nil {
		return nil
	}
	return append(o.Actions, o.Moves...)
}

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
	e.playing, e.shared = false, nil
	if e.at == nil {
		return
	}
	s := e.at.session
	e.at.cleanup.Stop()
	e.at = nil
	if e.kind.fresh {
		e.kind.source.background(func() { e.kind.pool.drop(s) })
		return
	}
	e.kind.pool.rest(s)
}

// abandon closes the session, in which something failed.
func (e *Env) abandon() {
	if e.at == nil {
		return
	}
	s := e.at.session
	e.at.cleanup.Stop()
	e.at = nil
	e.kind.source.background(func() { e.kind.pool.drop(s) })
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
	e.playing, e.shared = false, nil
	e.abandon()
	if errors.As(err, new(*hung)) {
		for _, s := range k.servers {
			k.source.background(func() { s.check(k.source.ctx) })
		}
	}
	k.source.noteFailure(err)
	return err
}
