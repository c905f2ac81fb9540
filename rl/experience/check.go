package experience

import (
	"fmt"
	"math"
)

// MaxReturn bounds advantages and returns: gradients of larger ones overflow float32.
const MaxReturn = 1e15

// Finite reports whether v is a number in float32, the type in which rewards are used.
func Finite(v float64) bool { return math.Abs(v) <= math.MaxFloat32 }

// Check returns an error that names the first number of e that training can't use. Code that takes an experience
// from outside checks it once, so that no such number is stored or averaged.
func (e *Experience) Check() error {
	if e.Reward != nil && !Finite(*e.Reward) {
		return fmt.Errorf("its reward is %v; it must be a finite number of at most %v", *e.Reward, math.MaxFloat32)
	}
	if b := e.Info.Baseline; b != nil && !Finite(*b) {
		return fmt.Errorf("its greedy rollout has reward %v; it must be a finite number", *b)
	}
	sum := 0.0
	for i, r := range e.TokenRewards {
		if sum += math.Abs(float64(r)); !Finite(sum) {
			return fmt.Errorf("its token reward %d is %v; the rewards of all tokens must add up to a finite number", i,
				r)
		}
	}
	for name, v := range e.Metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("its metric %q is %v; it must be a finite number", name, v)
		}
	}
	for i, p := range e.Logprobs {
		if i < len(e.ActionMask) && e.ActionMask[i] && !Finite(float64(p)) {
			return fmt.Errorf("the logprob of its response token %d is %v; it must be a finite number", i, p)
		}
	}
	return e.checkScores()
}

// checkScores looks at advantages and returns, which are not there before an experience is scored.
func (e *Experience) checkScores() error {
	for _, c := range []struct {
		name   string
		values []float32
	}{{"advantage", e.Advantages}, {"return", e.Returns}} {
		for i, v := range c.values {
			if !(math.Abs(float64(v)) <= MaxReturn) {
				return fmt.Errorf("the %s of its response token %d is %v; it must be a finite number of at most %v",
					c.name, i, v, MaxReturn)
			}
		}
	}
	return nil
}

// CheckAll returns the error of the first experience of list that has one.
func CheckAll(list []*Experience) error {
	for _, e := range list {
		if err := e.Check(); err != nil {
			return fmt.Errorf("experience %s: %w", e.EID, err)
		}
	}
	return nil
}
