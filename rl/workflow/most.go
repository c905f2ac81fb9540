package workflow

import "github.com/seed-d9ad8ee0/trinity/rl/env"

// Bound is the most tokens that one repetition of a task takes.
type Bound struct {
	Experiences int // that it gives
	Prompt      int // of an experience
	Response    int // of an experience, with the tokens that the model did not write
	Sampled     int // of all its answers together; 0: nobody knows how many turns there are
}

// Most bounds what a workflow makes of a rollout in which an answer has at most answer tokens and a prompt at most
// prompt tokens. A workflow that a program brings is taken for one that asks once. args must have been found good.
func Most(w Workflow, r *Rollout, prompt, answer int) Bound {
	b := Bound{Experiences: 1, Prompt: prompt, Response: answer, Sampled: answer}
	switch w.(type) {
	case FrozenLake: // an episode is one sequence, and the last observation may pass the limit
		if r.Params.MaxTokens <= 0 {
			answer = min(answer, lakeTokens)
		}
		b.Response, b.Sampled = answer+prompt, answer
	case Sudoku:
		b.Experiences, b.Sampled = sudokuSteps, sudokuSteps*answer
	case TrainableRuler: // the policy judges too
		b.Experiences, b.Sampled = 2, 2*answer
	case Program: // it asks as often as it likes, each time within the context
		b.Response, b.Sampled = max(answer, r.Context), 0
	case Gem:
		b.Sampled = gemTurns(r) * answer
	}
	return b
}

// gemTurns is how many turns an episode has at most; 0 if each episode draws it.
func gemTurns(r *Rollout) int {
	a, err := readGemArgs(r)
	if err != nil {
		return 0
	}
	s, err := r.Environments.Spec(a.id)
	if err != nil {
		return 0
	}
	n, limited := s.Params["max_turns"]
	if given, ok := a.params["max_turns"]; ok {
		n, limited = given, true
	}
	switch {
	case !limited:
		return 1
	case n == env.Drawn:
		return 0
	}
	return n
}

// AsksService reports whether a workflow asks a model of a service, which may cost money.
func AsksService(w Workflow) bool {
	r, ok := w.(Rubric)
	return ok && r.API
}
