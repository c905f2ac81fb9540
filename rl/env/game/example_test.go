package game_test

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
)

// An episode is played by saying things; a fork continues from the same state.
func Example() {
	words, err := game.Shipped()
	if err != nil {
		fmt.Println(err)
		return
	}
	registry, err := env.NewRegistry(game.Table(words))
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := registry.Make("game:GuessTheNumber-v0-easy", env.Params{"max_turns": 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := e.Reset(0); err != nil {
		fmt.Println(err)
		return
	}
	say := func(e env.Env, action string) {
		t, err := e.Step(action)
		fmt.Println(t.Text, t.Reward, t.Done(), err)
	}
	say(e, `Half of ten is \boxed{5}.`)
	fork := e.Fork()
	say(e, `\boxed{8}`)
	say(fork, `\boxed{7}`)
	say(fork, `\boxed{7}`)
	// Output:
	// At turn 1, you guessed 5, and the target number is higher than 5. 0 false <nil>
	// At turn 2, you guessed 8, and the target number is lower than 8. 0 false <nil>
	// Congratulations! You guessed the correct number 7 in 2 turns. 1 true <nil>
	//  0 false env: no episode is being played; Reset begins one
}
