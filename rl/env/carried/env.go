package carried

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Env plays episodes. It implements env.Env. A fork plays its episode from the beginning, with the same answers, unless
// it is the first of those that share one to play on.
type Env struct {
	source *Source
	task   int // env.Drawn: the seed draws it

	playing bool
	index   int
	answers []string
	prompts []string // that were answered, and the one that waits
	at      *holder  // the episode
	shared  *place   // or the one that forks share; both nil: it has to be played again
}

// holder owns an episode. When nobody holds the holder any more, the episode is ended.
type holder struct {
	*episode
	waiting *call
}

func hold(e *episode) *holder {
	h := &holder{episode: e}
	runtime.AddCleanup(h, func(e *episode) { e.end(errLeft) }, e)
	return h
}

// place is an episode that forks share until one of them plays on.
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

// Reset implements env.Env.
func (e *Env) Reset(seed uint64) (env.Observation, error) {
	e.leave()
	if e.index = e.task; e.task == env.Drawn {
		e.index = int(seed % uint64(e.source.o.Tasks.Len()))
	}
	e.answers, e.prompts = nil, nil
	prompt, err := e.begin()
	if err != nil {
		return env.Observation{}, e.fail(err)
	}
	e.playing, e.prompts = true, []string{prompt}
	return env.Observation{Text: prompt}, nil
}

// leave ends the episode that is being played, if there is one.
func (e *Env) leave() {
	if e.at != nil {
		e.at.end(errLeft)
		<-e.at.over
	}
	e.at, e.shared, e.playing = nil, nil, false
}

// begin begins the episode and waits for its first call.
func (e *Env) begin() (prompt string, err error) {
	one, err := e.source.begin(e.index)
	if err != nil {
		return "", err
	}
	e.at = hold(one)
	if e.at.waiting, err = one.await(); err == nil && e.at.waiting == nil {
		err = errors.New("the episode ended before the model was asked")
	}
	if err != nil {
		return "", err
	}
	return e.at.waiting.prompt, nil
}

// Step implements env.Env.
func (e *Env) Step(action string) (t env.Transition, err error) {
	if !e.playing {
		return t, env.ErrOver
	}
	if err := e.come(); err != nil {
		return t, e.fail(err)
	}
	e.at.waiting.answer <- action
	e.answers = append(e.answers, action)
	next, err := e.at.await()
	if err != nil {
		return t, e.fail(err)
	}
	if e.at.waiting = next; next != nil {
		e.prompts = append(e.prompts, next.prompt)
		t.Text = next.prompt
		return t, nil
	}
	part, err := e.at.reward()
	if err != nil {
		return t, e.fail(err)
	}
	e.at, e.playing = nil, false
	t.Terminated, t.Reward, t.Metrics = true, part.Reward, part.Metrics
	return t, nil
}

// come gets to where the episode is: it takes the one that forks share, or plays the episode again.
func (e *Env) come() error {
	if e.at == nil && e.shared != nil {
		e.at, e.shared = e.shared.take(), nil
	}
	if e.at != nil {
		return nil
	}
	prompt, err := e.begin()
	for i := 0; ; i++ {
		if err == nil && prompt != e.prompts[i] {
			err = fmt.Errorf("it cannot be played again: its call %d asks something else with the same answers", i+1)
		}
		if err != nil || i == len(e.answers) {
			return err
		}
		e.at.waiting.answer <- e.answers[i]
		if e.at.waiting, err = e.at.await(); err == nil && e.at.waiting == nil {
			err = fmt.Errorf("it cannot be played again: with the same answers it ends after %d calls", i+1)
		}
		if err == nil {
			prompt = e.at.waiting.prompt
		}
	}
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
	if e.at != nil {
		e.shared, e.at = &place{h: e.at}, nil
	}
	f := *e
	f.answers, f.prompts = slices.Clone(e.answers), slices.Clone(e.prompts)
	return &f
}

// SampleAction implements env.Env.
func (e *Env) SampleAction(r env.Draws) string {
	if !e.playing {
		return ""
	}
	return e.source.o.Random[r.IntN(len(e.source.o.Random))]
}
