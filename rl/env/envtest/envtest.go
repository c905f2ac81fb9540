// Package envtest is the suite that every environment passes: it plays an environment that the caller makes and reports
// where it breaks the contract of env.Env.
package envtest

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Suite is an environment to test.
type Suite struct {
	// Make makes one; several are used side by side.
	Make func() (env.Env, error)

	// Seeds is how many episodes each test plays, 8 if it is 0.
	Seeds int

	// Low and High bound each reward and the total of an episode. Both 0 means -0.1 and 1.
	Low, High float64

	// Malformed is the reward of an answer without an action, which sampled actions must never get; 0 means -0.1.
	Malformed float64

	// Solve says the next action of perfect play, for which the total is 1; nil leaves the test out. e is what Make
	// made.
	Solve func(e env.Env) string

	// MaxTurns ends an episode that does not end; 0 means 1,000.
	MaxTurns int
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	s.Seeds = cmp.Or(s.Seeds, 8)
	if s.Low == 0 && s.High == 0 {
		s.Low, s.High = -0.1, 1
	}
	s.Malformed = cmp.Or(s.Malformed, -0.1)
	s.MaxTurns = cmp.Or(s.MaxTurns, 1000)
	t.Run("no episode before Reset", func(t *testing.T) { s.over(t, s.make(t)) })
	t.Run("one seed is one episode", s.deterministic)
	t.Run("a fork is a replay", s.fork)
	t.Run("rewards and the end", s.rewards)
	t.Run("any text is an action", s.fuzz)
	if s.Solve != nil {
		t.Run("perfect play", s.perfect)
	}
}

func (s Suite) make(t *testing.T) env.Env {
	t.Helper()
	e, err := s.Make()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// over checks that an environment plays no episode.
func (s Suite) over(t *testing.T, e env.Env) {
	t.Helper()
	if _, err := e.Step(`\boxed{1}`); !errors.Is(err, env.ErrOver) {
		t.Errorf("a step without an episode returns the error %v, want %v", err, env.ErrOver)
	}
}

// episode plays a seed with sampled actions and returns the dialogue.
func (s Suite) episode(t *testing.T, e env.Env,
	seed uint64) (first env.Observation, actions []string, steps []env.Transition) {
	t.Helper()
	first = s.reset(t, e, seed)
	player := rng.New(seed).Stream("player")
	for len(steps) < s.MaxTurns {
		a := e.SampleAction(&player)
		actions = append(actions, a)
		steps = append(steps, s.step(t, e, a))
		if steps[len(steps)-1].Done() {
			return first, actions, steps
		}
	}
	t.Fatalf("seed %d: the episode is not over after %d turns", seed, s.MaxTurns)
	return
}

func (s Suite) reset(t *testing.T, e env.Env, seed uint64) env.Observation {
	t.Helper()
	o, err := e.Reset(seed)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return o
}

func (s Suite) step(t *testing.T, e env.Env, action string) env.Transition {
	t.Helper()
	tr, err := e.Step(action)
	if err != nil {
		t.Fatalf("action %q: %v", action, err)
	}
	return tr
}

// deterministic plays each seed in a fresh environment and in one that played before.
func (s Suite) deterministic(t *testing.T) {
	used := s.make(t)
	for seed := range uint64(s.Seeds) {
		first, actions, steps := s.episode(t, s.make(t), seed)
		if first.Text == "" {
			t.Errorf("seed %d: Reset shows nothing", seed)
		}
		again, sameActions, sameSteps := s.episode(t, used, seed)
		if !reflect.DeepEqual(first, again) || !reflect.DeepEqual(actions, sameActions) ||
			!reflect.DeepEqual(steps, sameSteps) {
			t.Errorf("seed %d gives another episode in an environment that played before", seed)
		}
	}
}

// fork forks in the middle of episodes and plays the fork and the original on with different actions.
func (s Suite) fork(t *testing.T) {
	for seed := range uint64(s.Seeds) {
		_, actions, steps := s.episode(t, s.make(t), seed)
		original := s.make(t)
		s.reset(t, original, seed)
		half := len(steps) / 2
		for i := range half {
			s.step(t, original, actions[i])
		}
		snapshot := original.Fork()
		s.disturb(t, original, seed)
		for range 2 {
			f := snapshot.Fork()
			for i := half; i < len(steps); i++ {
				if got := s.step(t, f, actions[i]); !reflect.DeepEqual(got, steps[i]) {
					t.Fatalf("seed %d: after a fork at step %d, step %d is %+v, want %+v", seed, half, i, got, steps[i])
				}
			}
		}
	}
}

// disturb plays an environment on to the end and begins another episode.
func (s Suite) disturb(t *testing.T, e env.Env, seed uint64) {
	player := rng.New(seed).Stream("other")
	for range s.MaxTurns {
		if s.step(t, e, e.SampleAction(&player)).Done() {
			break
		}
	}
	s.reset(t, e, seed+1)
}

// rewards checks the range of rewards and totals, that sampled actions are well-formed and that an episode stays over.
func (s Suite) rewards(t *testing.T) {
	const rounding = 1e-9
	e := s.make(t)
	for seed := range uint64(s.Seeds) {
		_, actions, steps := s.episode(t, e, seed)
		total := 0.0
		for i, st := range steps {
			total += st.Reward
			if !(st.Reward >= s.Low-rounding && st.Reward <= s.High+rounding) {
				t.Errorf("seed %d, step %d: the reward is %v, want it in [%v,%v]", seed, i, st.Reward, s.Low, s.High)
			}
			if st.Reward == s.Malformed {
				t.Errorf("seed %d, step %d: the sampled action %q is not well-formed: %s", seed, i, actions[i], st.Text)
			}
		}
		if total > s.High+rounding {
			t.Errorf("seed %d: the rewards sum to %v, want at most %v", seed, total, s.High)
		}
		s.over(t, e)
	}
}

// perfect plays by the solver.
func (s Suite) perfect(t *testing.T) {
	e := s.make(t)
	for seed := range uint64(s.Seeds) {
		s.reset(t, e, seed)
		total, last := 0.0, env.Transition{}
		for n := 0; !last.Done() && n < s.MaxTurns; n++ {
			last = s.step(t, e, s.Solve(e))
			total += last.Reward
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("seed %d: perfect play ends with %q and a total of %v, want 1", seed, last.Text, total)
		}
	}
}
