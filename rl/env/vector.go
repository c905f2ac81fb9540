package env

import (
	"errors"
	"fmt"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// Autoreset says when a Vector begins the next episode of an environment whose episode is over.
type Autoreset int

const (
	SameStep Autoreset = iota // in the step that ends the episode; the last observation is Result.Final
	NextStep                  // in the step after, which ignores its action and has reward 0
)

// VectorOptions say how a Vector works.
type VectorOptions struct {
	Autoreset Autoreset
	Async     bool // play the environments side by side; the results are the same
}

// Result is the outcome of a step of one environment of a Vector.
type Result struct {
	Transition

	// Final is the observation that ended an episode, nil while it lasts. With SameStep the Observation of the result
	// is then the first of the next episode; Reward, Terminated and Truncated are those of the episode that ended.
	Final *Observation
}

// Vector plays several environments at once. The k-th episode that autoreset begins in an environment has a seed that
// derives from the seed of its last Reset and k alone. A Vector is for one goroutine.
type Vector struct {
	envs []Env
	o    VectorOptions
	at   []place
}

// place is where one environment of a vector is.
type place struct {
	seed    uint64 // of the last Reset
	started int    // episodes that autoreset began since
	over    bool   // with NextStep: the next step begins an episode
}

// NewVector makes a Vector of environments that nobody else uses.
func NewVector(envs []Env, o VectorOptions) *Vector {
	return &Vector{envs: envs, o: o, at: make([]place, len(envs))}
}

// Envs returns the environments.
func (v *Vector) Envs() []Env { return v.envs }

// Reset begins an episode in each environment: environment i gets seed + i.
func (v *Vector) Reset(seed uint64) ([]Observation, error) {
	seeds := make([]uint64, len(v.envs))
	for i := range seeds {
		seeds[i] = seed + uint64(i)
	}
	return v.ResetSeeds(seeds)
}

// ResetSeeds begins an episode in each environment with a seed of its own.
func (v *Vector) ResetSeeds(seeds []uint64) ([]Observation, error) {
	if len(seeds) != len(v.envs) {
		return nil, fmt.Errorf("env: %d seeds for a vector of %d; give one for each environment", len(seeds),
			len(v.envs))
	}
	out := make([]Observation, len(v.envs))
	err := v.each(len(seeds), func(i int) (err error) {
		v.at[i] = place{seed: seeds[i]}
		out[i], err = v.envs[i].Reset(seeds[i])
		return err
	})
	return out, err
}

// Step plays one action in each environment.
func (v *Vector) Step(actions []string) ([]Result, error) {
	all := make([]int, len(v.envs))
	for i := range all {
		all[i] = i
	}
	return v.StepAt(all, actions)
}

// StepAt plays actions[k] in environment indices[k] and returns the results in that order.
func (v *Vector) StepAt(indices []int, actions []string) ([]Result, error) {
	if len(indices) != len(actions) {
		return nil, fmt.Errorf("env: %d actions for %d environments; give one for each", len(actions), len(indices))
	}
	seen := make(map[int]bool, len(indices))
	for _, i := range indices {
		if i < 0 || i >= len(v.envs) || seen[i] {
			return nil, fmt.Errorf("env: index %d is outside a vector of %d or given twice", i, len(v.envs))
		}
		seen[i] = true
	}
	out := make([]Result, len(indices))
	err := v.each(len(indices), func(k int) (err error) {
		out[k], err = v.step(indices[k], actions[k])
		return err
	})
	return out, err
}

func (v *Vector) step(i int, action string) (Result, error) {
	p := &v.at[i]
	if p.over {
		o, err := v.next(i)
		return Result{Transition: Transition{Observation: o}}, err
	}
	t, err := v.envs[i].Step(action)
	if err != nil || !t.Done() {
		return Result{Transition: t}, err
	}
	final := t.Observation
	if v.o.Autoreset == NextStep {
		p.over = true
		return Result{t, &final}, nil
	}
	t.Observation, err = v.next(i)
	return Result{t, &final}, err
}

// next begins the next episode of environment i.
func (v *Vector) next(i int) (Observation, error) {
	p := &v.at[i]
	p.over = false
	p.started++
	stream := rng.New(p.seed).Stream("autoreset", p.started)
	return v.envs[i].Reset(stream.Uint64())
}

// each calls f for 0 … n-1, side by side if the vector is asynchronous, and joins the errors.
func (v *Vector) each(n int, f func(int) error) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		if v.o.Async {
			wait.Go(func() { errs[i] = f(i) })
		} else {
			errs[i] = f(i)
		}
	}
	wait.Wait()
	return errors.Join(errs...)
}
