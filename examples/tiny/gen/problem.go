package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A problem is one word problem with its solution.
type problem struct {
	question string
	prose    []string // one sentence per step, with the step's equation in it
	steps    []step
	numbers  []int // every number that the question gives, in its order
}

// A step is one line of working: x op y = z.
type step struct {
	x  int
	op byte
	y  int
	z  int
}

func (s step) String() string { return fmt.Sprintf("%d%c%d=%d", s.x, s.op, s.y, s.z) }

// answer is the last step's result.
func (p problem) answer() int { return p.steps[len(p.steps)-1].z }

// working is the solution as bare equations, one a line.
func (p problem) working() string {
	lines := make([]string, len(p.steps))
	for i, s := range p.steps {
		lines[i] = s.String()
	}
	return strings.Join(lines, "\n")
}

// maxNumber bounds every number of a problem, given or worked out.
const maxNumber = 80

// newProblem draws a problem of one to three steps.
func newProblem(r *rand.Rand) problem {
	for {
		s := newStory(r)
		if s.tell(1 + pickWeighted(r, stepShares[:])) {
			return s.problem()
		}
	}
}

// stepShares is how often a problem takes one, two, three steps, in percent.
var stepShares = [3]int{20, 40, 40}

// pickWeighted draws an index with probability proportional to its weight.
func pickWeighted(r *rand.Rand, weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := r.IntN(total)
	i := 0
	for ; n >= weights[i]; i++ {
		n -= weights[i]
	}
	return i
}

// between draws a number in [lo, hi].
func between(r *rand.Rand, lo, hi int) int { return lo + r.IntN(hi-lo+1) }

// pick draws one of the choices.
func pick[T any](r *rand.Rand, choices []T) T { return choices[r.IntN(len(choices))] }
