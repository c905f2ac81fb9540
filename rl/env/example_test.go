package env_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// countdown is an environment: the player counts down from 3, one number a turn.
type countdown struct{ left int }

func (c *countdown) Reset(uint64) (env.Observation, error) {
	c.left = 3
	return env.Observation{Text: "Count down from 3."}, nil
}

func (c *countdown) Step(action string) (env.Transition, error) {
	if c.left == 0 {
		return env.Transition{}, env.ErrOver
	}
	if strings.TrimSpace(action) != fmt.Sprint(c.left) {
		c.left = 0
		return env.Transition{Observation: env.Observation{Text: "Wrong."}, Terminated: true}, nil
	}
	c.left--
	t := env.Transition{Observation: env.Observation{Text: "Go on."}, Reward: 1.0 / 3}
	t.Terminated = c.left == 0
	return t, nil
}

func (c *countdown) Fork() env.Env {
	fork := *c
	return &fork
}

func (c *countdown) SampleAction(r env.Draws) string { return fmt.Sprint(1 + r.IntN(3)) }

// An environment answers actions with observations and rewards. A fork continues from the same state.
func Example() {
	e := &countdown{}
	first, err := e.Reset(7)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Text)
	t, err := e.Step("3")
	fmt.Printf("%s reward %.2f, over: %v, %v\n", t.Text, t.Reward, t.Done(), err)

	fork := e.Fork()
	t, err = fork.Step("1")
	fmt.Printf("%s reward %.2f, over: %v, %v\n", t.Text, t.Reward, t.Done(), err)
	t, err = e.Step("2")
	fmt.Printf("%s reward %.2f, over: %v, %v\n", t.Text, t.Reward, t.Done(), err)

	r := rand.New(rand.NewPCG(1, 2))
	action := e.SampleAction(r)
	fmt.Println("a random player says a number:", strings.Contains("123", action))
	// Output:
	// Count down from 3.
	// Go on. reward 0.33, over: false, <nil>
	// Wrong. reward 0.00, over: true, <nil>
	// Go on. reward 0.33, over: false, <nil>
	// a random player says a number: true
}
