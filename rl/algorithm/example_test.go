package algorithm_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// An algorithm is chosen by the keys of the YAML section of that name. It turns the rewards of a group into advantages,
// and these and the logprobs of the trained model into a loss with its gradient.
func Example() {
	method, err := algorithm.New(algorithm.Choice{Type: "grpo", PolicyLossArgs: algorithm.Args{"clip_range": 0.2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var group []*experience.Experience
	for run, reward := range []float64{0, 0, 1, 1} {
		e := &experience.Experience{
			EID:    experience.EID{Batch: "1", Task: "0", Run: run},
			Tokens: []int32{5, 6, 7, 8}, PromptLength: 2, // two tokens of a prompt, two that were sampled
			Logprobs: []float32{-0.5, -0.1}, ActionMask: []bool{true, true},
		}
		e.SetReward(reward)
		group = append(group, e)
	}
	group, _, err = method.Advantage.Assign(group, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range group {
		fmt.Printf("reward %v, advantages %.3f\n", *e.Reward, e.Advantages)
	}

	ppo, err := algorithm.PolicyLosses()["ppo"](algorithm.Args{"clip_range": 0.2})
	if err != nil {
		fmt.Println(err)
		return
	}
	// the model has moved: the first token has become likelier than the clip range lets count
	batch := []algorithm.Sequence{{
		Logprobs: []float32{-0.2, -0.1}, Old: group[3].Logprobs, Advantages: group[3].Advantages,
		Mask: group[3].ActionMask,
	}}
	loss := ppo.Loss(batch, algorithm.TokenMean)
	fmt.Printf("loss %.4f, gradient %.4f\n", loss.Value, loss.Gradient[0])
	// Output:
	// reward 0, advantages [-0.866 -0.866]
	// reward 0, advantages [-0.866 -0.866]
	// reward 1, advantages [0.866 0.866]
	// reward 1, advantages [0.866 0.866]
	// loss -0.9526, gradient [0.0000 -0.4330]
}
