package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
)

// expertRows is the number of problems in the expert's file.
const expertRows = 800

// An expert is a row for sft, dpo and mix: a worked solution, and a guess that is slightly wrong.
type expert struct {
	Question string `json:"question"`
	Response string `json:"response"` // of sft and mix; the same as chosen
	Rejected string `json:"rejected"` // of dpo
}

// experts returns a source of the expert's rows. Its problems use the tuples of the training part, never held-out ones.
func experts(seed uint64) func() expert {
	next := problems(seed+1, train)
	r := rand.New(rand.NewPCG(seed, 1<<33))
	return func() expert {
		p := next()
		wrong := p.answer() + 1 + r.IntN(3)
		if p.answer() > 3 && r.IntN(2) == 0 {
			wrong = p.answer() - 1 - r.IntN(3)
		}
		return expert{p.question, p.solved(true).Response, fmt.Sprintf("<think></think><answer>%d</answer>", wrong)}
	}
}

// writeExpert writes the expert's rows as train.jsonl.
func writeExpert(o options) error {
	next := experts(o.seed)
	return writeRows(filepath.Join(o.out, "train.jsonl"), cmp.Or(o.rows, expertRows), next)
}
