package gem

import (
	"context"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// opened is an episode that has begun: what it is played in, what the model sees, and what it has read and written.
type opened struct {
	env env.Env
	obs env.Observation
	seq chat.Sequence
}

// slots are the episodes of a round. With grpo the episodes of a group begin in one state.
func (t *Trainer) slots(ctx context.Context, step, round int) []slot {
	slots := make([]slot, t.Config.NumEnv)
	size := 1
	if t.Config.Method == "grpo" {
		size = t.Config.GroupSize
	}
	for first := 0; first < len(slots); first += size {
		begin := t.opening(ctx, step, round, first)
		for i := first; i < min(first+size, len(slots)); i++ {
			slots[i] = slot{step, round, i, begin}
		}
	}
	return slots
}

// opening returns how the episodes of a group begin: each gets a fork of one environment, which was reset with the
// group's own seed and, with fork_turn, played some turns. It is made when it is first asked for.
func (t *Trainer) opening(ctx context.Context, step, round, group int) func() (opened, error) {
	if t.Unsteady {
		return t.openingEach(step, round, group)
	}
	var once sync.Once
	var lock sync.Mutex
	var first opened
	var err error
	return func() (opened, error) {
		once.Do(func() {
			if first.env, err = t.Make(); err != nil {
				return
			}
			if first.obs, err = first.env.Reset(t.seedOf(step, round, group)); err == nil && t.Config.Method == "grpo" {
				first, err = t.advance(ctx, first, step, round, group)
			}
		})
		if err != nil {
			return opened{}, err
		}
		lock.Lock()
		defer lock.Unlock()
		own := first
		own.env = first.env.Fork()
		return own, nil
	}
}

// openingEach is opening for environments that ignore seeds: nothing that began can be had twice.
func (t *Trainer) openingEach(step, round, group int) func() (opened, error) {
	return func() (o opened, err error) {
		if o.env, err = t.Make(); err == nil {
			o.obs, err = o.env.Reset(t.seedOf(step, round, group))
		}
		return o, err
	}
}

// seedOf is the seed of a group's environments.
func (t *Trainer) seedOf(step, round, group int) uint64 {
	draw := rng.New(uint64(t.Config.Seed)).Stream("environment", step, round, group)
	return draw.Uint64()
}

// advance plays fork_turn turns, or as many as leave the episode one more.
func (t *Trainer) advance(ctx context.Context, o opened, step, round, group int) (opened, error) {
	for turn := range t.Config.ForkTurn {
		before := o
		before.env = o.env.Fork()
		answer, _, err := t.policy.Answer(ctx, &o.seq, o.obs, "opening", step, round, group, turn)
		if err != nil {
			return o, err
		}
		next, err := o.env.Step(t.policy.Action(answer.Response))
		if err != nil {
			return o, err
		}
		if next.Done() {
			return before, nil
		}
		o.obs = next.Observation
	}
	return o, nil
}
