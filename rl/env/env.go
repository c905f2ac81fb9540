// Package env is the meeting place of players and environments: text goes in, text and a reward come out. It holds the
// contract Env, the registry in which environments are found by id, the wrappers that shape what a player sees, vectors
// of environments and snapshots. The environments themselves are in the packages below it (rl/env/game …), and
// rl/env/envtest is the suite that every one of them passes.
package env

import (
	"errors"

	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
)

// ErrOver is returned by Step when no episode is being played: before the first Reset and after the end of an episode.
var ErrOver = errors.New("env: no episode is being played; Reset begins one")

// Env plays episodes, one after the other. It is for one goroutine; different Envs share nothing that changes, so any
// number of them may be played side by side.
//
// Errors are faults of the machinery (a file that cannot be read), after which the episode is lost. Whatever a player
// says is an action and is answered with an observation and a reward, never with an error.
type Env interface {
	// Reset begins the episode that belongs to seed, whatever was played before.
	Reset(seed uint64) (Observation, error)

	// Step plays one action: the player's whole answer, from which the environment takes the part that counts.
	Step(action string) (Transition, error)

	// Fork returns an independent environment in the same state, random draws to come included: both give the same
	// answers to the same actions. A fork that is not played is a snapshot, and can itself be forked any number of
	// times.
	Fork() Env

	// SampleAction draws what a random player would say here: a well-formed action, not necessarily an allowed one. It
	// changes nothing and draws only from r. It is called while an episode is played.
	SampleAction(r Draws) string
}

// Draws is where random choices come from. A *rand.Rand of math/rand/v2 is one.
type Draws interface {
	Uint64() uint64
	IntN(n int) int   // evenly from [0,n)
	Float64() float64 // from [0,1)
	Perm(n int) []int // an order of 0 … n-1
}

// Observation is one answer of an environment, for the player.
type Observation struct {
	// Text answers the last action; after Reset it is the task.
	Text string

	// Prefix and Suffix belong around the text that the player reads, once, however much history it shows: the suffix
	// is usually the present board and a request to continue. A wrapper that put them into Text leaves them empty.
	Prefix, Suffix string

	// Action is the part of the action that counted, "" for all of it. A history shows this part.
	Action string

	// Tool says that a tool wrote Text, not the environment.
	Tool bool

	// Tools describe, for a chat template, the tools that the player calls in its actions, nil for none. They are part
	// of the task, after Reset. Text describes them in words too, and Plain is Text without that.
	Tools jinja.List
	Plain string

	// Metrics are named numbers for logs, nil for none. The receiver may keep them: they do not change later.
	Metrics map[string]float64
}

// Transition is the outcome of a step.
type Transition struct {
	Observation
	Reward float64

	// Terminated says that the episode is over by the rules, Truncated that it ran out of turns; both may hold.
	Terminated, Truncated bool
}

// Done reports whether the episode is over.
func (t Transition) Done() bool { return t.Terminated || t.Truncated }

// Wrapper puts an environment around another.
type Wrapper func(Env) Env

// Wrap applies wrappers in order: the first becomes the innermost.
func Wrap(e Env, wrappers ...Wrapper) Env {
	for _, w := range wrappers {
		e = w(e)
	}
	return e
}
