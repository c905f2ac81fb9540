package trainer

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// data lays experiences out as upstream does, a datum for each sequence: input x₁…x_{L−1}, targets x₂…x_L.
func data(batch []*experience.Experience) ([]tinker.Datum, error) {
	list := make([]tinker.Datum, 0, len(batch))
	for _, e := range batch {
		if err := e.Validate(); err != nil {
			return nil, err
		}
		if e.PromptLength < 1 || len(e.Tokens) < 2 {
			return nil, fmt.Errorf("trainer: experience %s has %d prompt tokens of %d; "+
				"a prompt of at least one token and a response are needed", e.EID, e.PromptLength, len(e.Tokens))
		}
		for _, s := range e.Spans() {
			list = append(list, tinker.Datum{ModelInput: tinker.Text(e.Tokens[s[0] : s[1]-1]),
				LossFnInputs: map[string]tinker.Tensor{
					tinker.TargetTokens: tinker.TokenInts(e.Tokens[s[0]+1 : s[1]]),
				}})
		}
	}
	return list, nil
}

// withAdvantages adds to the data of a batch what a service's policy loss reads, a number per target: the samplers'
// logprobs and the advantages. Both are 0 if the target is not trained.
func withAdvantages(batch []*experience.Experience, list []tinker.Datum) {
	logprobs, advantages := make([][]float32, len(batch)), make([][]float32, len(batch))
	for i, e := range batch {
		logprobs[i], advantages[i] = make([]float32, len(e.Tokens)-1), make([]float32, len(e.Tokens)-1)
		for j, keep := range e.ActionMask {
			if keep {
				logprobs[i][e.PromptLength-1+j] = e.Logprobs[j]
				advantages[i][e.PromptLength-1+j] = e.Advantages[j]
			}
		}
	}
	logprobs, advantages = apart(batch, logprobs, 1), apart(batch, advantages, 1)
	for i := range list {
		list[i].LossFnInputs[tinker.Logprobs] = tinker.Floats(logprobs[i])
		list[i].LossFnInputs[tinker.Advantages] = tinker.Floats(advantages[i])
	}
}

// unweighted is data for a forward alone: every target has weight 0.
func unweighted(batch []*experience.Experience) ([]tinker.Datum, error) {
	list, err := data(batch)
	for _, d := range list {
		d.LossFnInputs[tinker.Weights] = tinker.Floats(make([]float32, d.LossFnInputs[tinker.TargetTokens].Len()))
	}
	return list, err
}

// joined puts what a service gave for each datum of a batch, K numbers a target, together: a row of
// [len(Tokens)−1,K] for each experience, whose place j is that of token j+1. The first token of a further
// sequence is not a target; its place holds zeros.
func joined(batch []*experience.Experience, rows [][]float32, K int) ([][]float32, error) {
	out := make([][]float32, len(batch))
	at := 0
	for i, e := range batch {
		spans := e.Spans()
		if len(rows)-at < len(spans) {
			return nil, fmt.Errorf("trainer: the service answered for %d sequences, and sample %s is beyond them",
				len(rows), e.EID)
		}
		mine := rows[at : at+len(spans)]
		at += len(spans)
		for k, s := range spans {
			if want := (s[1] - s[0] - 1) * K; len(mine[k]) != want {
				return nil, fmt.Errorf("trainer: the service returned %d numbers for the %d targets of sample %s",
					len(mine[k]), want, e.EID)
			}
		}
		if out[i] = mine[0]; len(spans) == 1 {
			continue
		}
		out[i] = make([]float32, (len(e.Tokens)-1)*K)
		for k, s := range spans {
			copy(out[i][s[0]*K:], mine[k])
		}
	}
	if at != len(rows) {
		return nil, fmt.Errorf("trainer: the service answered for %d sequences where %d were asked for", len(rows), at)
	}
	return out, nil
}

// apart is the inverse of joined: a row for each datum. It shares memory with rows.
func apart(batch []*experience.Experience, rows [][]float32, K int) [][]float32 {
	out := make([][]float32, 0, len(batch))
	for i, e := range batch {
		for _, s := range e.Spans() {
			out = append(out, rows[i][s[0]*K:(s[1]-1)*K])
		}
	}
	return out
}

// withoutLeft sets the rows, one for each datum, of experiences that are left out to nil.
func withoutLeft(batch []*experience.Experience, rows [][]float32, left []bool) [][]float32 {
	at := 0
	for i, e := range batch {
		for range e.Spans() {
			if left[i] {
				rows[at] = nil
			}
			at++
		}
	}
	return rows
}

// recorded are the numbers of one name that a service gave for each datum.
func recorded(o tinker.ForwardOutput, name string) [][]float32 {
	rows := make([][]float32, len(o.LossFnOutputs))
	for i, rec := range o.LossFnOutputs {
		rows[i] = rec[name].Float
	}
	return rows
}
