package env

import (
	"maps"
)

// Tracker counts the steps of an episode and sums its rewards. It tells both as metrics of every transition,
// step_counter and cumulative_rewards, and the previous episode's as metrics of Reset, prev_ep_step_counter and
// prev_ep_cumulative_rewards.
type Tracker struct {
	Env   // the wrapped one
	steps int
	sum   float64
}

// NewTracker wraps an environment.
func NewTracker(inner Env) *Tracker { return &Tracker{Env: inner} }

// Steps is the number of steps of the present episode.
func (t *Tracker) Steps() int { return t.steps }

// Return is the sum of the present episode's rewards.
func (t *Tracker) Return() float64 { return t.sum }

// Reset begins an episode.
func (t *Tracker) Reset(seed uint64) (Observation, error) {
	o, err := t.Env.Reset(seed)
	if err != nil {
		return Observation{}, err
	}
	o.Metrics = with(o.Metrics, "prev_ep_step_counter", float64(t.steps), "prev_ep_cumulative_rewards", t.sum)
	t.steps, t.sum = 0, 0
	return o, nil
}

// Step plays an action.
func (t *Tracker) Step(action string) (Transition, error) {
	s, err := t.Env.Step(action)
	if err != nil {
		return Transition{}, err
	}
	t.steps++
	t.sum += s.Reward
	s.Metrics = with(s.Metrics, "step_counter", float64(t.steps), "cumulative_rewards", t.sum)
	return s, nil
}

// Fork copies the counts and forks the wrapped environment.
func (t *Tracker) Fork() Env { return &Tracker{t.Env.Fork(), t.steps, t.sum} }

// with returns a copy of metrics with two more.
func with(metrics map[string]float64, k1 string, v1 float64, k2 string, v2 float64) map[string]float64 {
	m := make(map[string]float64, len(metrics)+2)
	maps.Copy(m, metrics)
	m[k1], m[k2] = v1, v2
	return m
}
