package gem

import (
	"context"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/rng"
)

// seats are the places of a round. With grpo the places of a group begin in one state.
func (t *Trainer) seats(ctx context.Context, step, round int) []seat {
	seats := make([]seat, t.Config.NumEnv)
	size := 1
	if t.Config.Method == "grpo" {
		size = t.Config.GroupSize
	}
	for first := 0; first < len(seats); first += size {
		begin := t.opening(ctx, step, round, first)
		for i := first; i < min(first+size, len(seats)); i++ {
			seats[i] = seat{step, round, i, begin}
		}
	}
	return seats
}

// opening returns how the episodes of a group begin: each gets a fork of one environment, which was reset with the group's own
// seed and, with fork_turn, played some turns. It is made when it is first asked for.
func (t *Trainer) opening(ctx context.Context, step, round, group int) func() (env.Env, env.Observation, error) {
	var once sync.Once
	var lock sync.Mutex
	var first env.Env
	var obs env.Observation
	var err error
	return func() (env.Env, env.Observation, error) {
		once.Do(func() {
			if first, err = t.Make(); err != nil {
				return
			}
			draw := rng.New(uint64(t.Config.Seed)).Stream("environment", step, round, group)
			if obs, err = first.Reset(draw.Uint64()); err == nil && t.Config.Method == "grpo" {
				first, obs, err = t.advance(ctx, first, obs, step, round, group)
			}
		})
		if err != nil {
			return nil, env.Observation{}, err
		}
		lock.Lock()
		defer lock.Unlock()
		return first.Fork(), obs, nil
	}
}

// advance plays fork_turn turns, or as many as leave the episode one more.
func (t *Trainer) advance(ctx context.Context, e env.Env, obs env.Observation, step, round, group int) (env.Env, env.Observation, error) {
	for turn := range t.Config.ForkTurn {
		before := e.Fork()
		answer, err := t.player.Answer(ctx, obs, "opening", step, round, group, turn)
		if err != nil {
			return nil, obs, err
		}
		next, err := e.Step(t.player.Action(answer.Response))
		if err != nil {
			return nil, obs, err
		}
		if next.Done() {
			return before, obs, nil
		}
		obs = next.Observation
	}
	return e, obs, nil
}
