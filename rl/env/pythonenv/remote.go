package pythonenv

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// mostEpisodes is how many episodes an environment in Python plays before another takes its place. Some change with
// the number of resets: GEM's reasoning environments draw another set of tasks after 499.
const mostEpisodes = 100

// said is an environment's answer to a reset or a step.
type said struct {
	Text, Prefix, Suffix, Action string
	Tool                         bool
	Metrics                      map[string]float64
	Reward                       float64
	Terminated, Truncated        bool
}

func (s said) transition() env.Transition {
	return env.Transition{Observation: env.Observation{Text: s.Text, Prefix: s.Prefix, Suffix: s.Suffix,
		Action: s.Action, Tool: s.Tool, Metrics: s.Metrics}, Reward: s.Reward, Terminated: s.Terminated,
		Truncated: s.Truncated}
}

// heard is the part of an answer that a replay must repeat.
func (s said) heard() string {
	s.Metrics = nil            // may tell of the time, or of the episode before
	data, _ := json.Marshal(s) // text and finite numbers
	return string(data)
}

// remote is an environment that lives in a process.
type remote struct {
	kind     *kind
	key      string
	session  *session
	number   int
	episodes int
}

// session is a Session that copies share; the last one closes it.
type session struct {
	*python.Session
	users atomic.Int32
}

func (s *session) leave() {
	if s.users.Add(-1) == 0 {
		s.Close()
	}
}

// open makes an environment in the process with the least to do, or takes one that has nothing to do.
func (k *kind) open(kwargs map[string]any, key string) (*remote, error) {
	if r := k.rested(key); r != nil {
		return r, nil
	}
	bound, err := k.source.host.Session(k.source.ctx)
	if err != nil {
		return nil, err
	}
	r := &remote{kind: k, key: key, session: &session{Session: bound}}
	r.session.users.Add(1)
	if err := r.call("env.make", k.args(kwargs), &r.number); err != nil {
		r.session.leave()
		return nil, err
	}
	return r, nil
}

// rested takes an environment that has nothing to do; nil: there is none. Those whose process is gone are released.
func (k *kind) rested(key string) *remote {
	k.mu.Lock()
	defer k.mu.Unlock()
	for list := k.idle[key]; len(list) > 0; {
		r := list[len(list)-1]
		list = list[:len(list)-1]
		k.idle[key] = list
		if r.session.Alive() {
			return r
		}
		r.release()
	}
	return nil
}

// rest keeps an environment whose episode is over for another one.
func (r *remote) rest() {
	if r.episodes++; r.episodes >= mostEpisodes {
		r.release()
		return
	}
	r.kind.mu.Lock()
	defer r.kind.mu.Unlock()
	if r.kind.idle == nil { // the source is closed
		r.session.leave()
		return
	}
	r.kind.idle[r.key] = append(r.kind.idle[r.key], r)
}

// release closes the environment in the background.
func (r *remote) release() {
	r.kind.source.background(func() {
		r.call("env.close", map[string]any{"env": r.number, "parallel": r.kind.parallel}, nil) // lost: closed too
		r.session.leave()
	})
}

// drop ends the sessions of those that rest. The host ends the environments.
func (k *kind) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, list := range k.idle {
		for _, r := range list {
			r.session.leave()
		}
	}
	k.idle = nil
}

func (r *remote) reset(seed uint64) (s said, err error) {
	err = r.call("env.reset", map[string]any{"env": r.number, "seed": uint32(seed ^ seed>>32),
		"parallel": r.kind.parallel}, &s)
	return s, err
}

func (r *remote) step(action string) (s said, err error) {
	err = r.call("env.step", map[string]any{"env": r.number, "action": action, "parallel": r.kind.parallel}, &s)
	return s, err
}

// fork copies the environment with its episode, in the same process.
func (r *remote) fork() (*remote, error) {
	f := &remote{kind: r.kind, key: r.key, session: r.session}
	err := r.call("env.fork", map[string]any{"env": r.number, "parallel": r.kind.parallel}, &f.number)
	if err != nil {
		return nil, err
	}
	f.session.users.Add(1)
	return f, nil
}

// call makes a call that must not run longer than the timeout; waiting for other environments does not count.
func (r *remote) call(name string, args, result any) error {
	return r.session.Call(r.kind.source.limited(r.kind.source.ctx), name, args, result, nil)
}

// limited bounds calls by the timeout.
func (s *Source) limited(ctx context.Context) context.Context {
	return python.WithLimit(ctx, s.opts.Timeout, timedOut(s.opts.Timeout))
}

// timedOut is the cause of a call that was given up.
type timedOut time.Duration

func (t timedOut) Error() string { return fmt.Sprintf("it did not return within %s", time.Duration(t)) }
