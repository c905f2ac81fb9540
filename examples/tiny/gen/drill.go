package main

import (
	"math/rand/v2"
	"strconv"
)

// drillSteps is how many steps a drill takes.
const drillSteps = 7

// newDrill makes a chain of bare arithmetic with the numbers and operations of the stories. The question is the chain;
// the response computes it line by line, from left to right. Most tokens of a story are text; nearly all tokens of a
// drill are arithmetic.
func newDrill(r *rand.Rand) solved {
	s := newStory(r)
	s.count = between(r, 2, 25)
	for len(s.steps) < drillSteps {
		switch p := r.IntN(100); {
		case p < 15 && s.count <= 6:
			s.work('*', between(r, 2, 9), "")
		case p < 30 && s.count <= 20:
			s.work('*', between(r, 2, 4), "")
		case p < 45 && len(divisors(s.count)) > 0:
			s.work('/', pick(r, divisors(s.count)), "")
		case p < 65 && s.count > 3 || s.count > maxNumber-20:
			s.work('-', between(r, 2, min(s.count-1, 15)), "")
		default:
			s.work('+', between(r, 2, 20), "")
		}
	}
	chain := strconv.Itoa(s.steps[0].x)
	for _, t := range s.steps {
		chain += string(t.op) + strconv.Itoa(t.y)
	}
	return solved{chain, problem{steps: s.steps}.working()}
}
