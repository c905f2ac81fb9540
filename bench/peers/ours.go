package main

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/model"
	"github.com/seed-d9ad8ee0/trinity/engine/nn"
)

// ours is trinity's engine at work: the weights that the last request named, and what is made once for them.
type ours struct {
	compute nn.Compute
	folder  string
	w       *model.Weights
	runner  *model.Runner

	adapter *model.Adapter
	grads   *model.Grads
	tape    *model.Tape

	decoding []model.Seq  // and its sequences, each with pages of its own
	of       string       // the row they are for
	draws    [][]float32  // [sequences][V] memory of the draws
	rng      []*rand.Rand // of each sequence
}

// do does a piece of work and answers what it took.
func (e *ours) do(k *kernel.Set, r request) (answer, error) {
	e.pool(k, r.Threads)
	if e.folder != r.Model {
		compute := e.compute
		*e = ours{compute: compute}
		debug.FreeOSMemory()
		w, err := model.Load(r.Model, compute)
		if err != nil {
			return answer{}, err
		}
		e.folder, e.w, e.runner = r.Model, w, model.NewRunner(compute)
	}
	e.forget(r.Work)
	var a answer
	switch r.Work {
	case train:
		if err := e.lora(r.Rank); err != nil {
			return a, err
		}
		a = e.train(r)
	case prefill:
		a = e.prefill(r)
	case decode:
		e.prepare(r)
		a = e.decode(r)
	default:
		return a, fmt.Errorf("peers: work %q is unknown", r.Work)
	}
	return a, e.runner.Err()
}

// forget lets go of what other work than the next has needed: a model of billions of parameters has to fit beside the peer's.
func (e *ours) forget(next kind) {
	switch {
	case next != train && e.tape != nil:
		e.adapter, e.grads, e.tape, e.runner = nil, nil, nil, model.NewRunner(e.compute)
	case next != decode && e.of != "":
		e.of, e.decoding, e.draws, e.rng = "", nil, nil, nil
	default:
		return
	}
	debug.FreeOSMemory()
}

// lora makes the adapter that is trained: on all linears of the layers, not the head, as peft's all-linear.
func (e *ours) lora(rank int) error {
	if e.adapter != nil && e.adapter.LoRA.Rank == rank {
		return nil
	}
	l := model.LoRA{Rank: rank, Alpha: float64(rank), Attn: true, MLP: true}
	tensors := e.w.NewLoRA(l, 1)
	adapter, err := e.w.NewAdapter(l, tensors, e.compute.K)
	e.adapter, e.grads, e.tape = adapter, model.NewGrads(tensors), e.runner.NewTape(false)
	return err
}

// train runs forward, cross-entropy and backward, and checks by the mean loss.
func (e *ours) train(r request) answer {
	var targets []int32
	var seqs []model.Seq
	for _, ids := range r.IDs {
		seqs = append(seqs, model.Seq{Tokens: ids, Pages: e.pages(len(ids)), Adapter: e.adapter})
		targets = append(append(targets, ids[1:]...), -1)
	}
	n := float32(len(targets) - len(r.IDs))
	logp := make([]float32, len(targets))
	e.grads.Zero()
	start := time.Now()
	hidden := e.runner.Forward(e.w, seqs, e.tape)
	e.runner.Score(e.w, seqs, hidden, targets, 1, logp, func(_ int, _, g []float32) { g[0] = -1 / n }, e.tape)
	e.runner.Backward(e.w, seqs, e.tape, e.grads)
	seconds := time.Since(start).Seconds()
	sum := 0.0
	for _, x := range logp {
		sum -= float64(x)
	}
	return answer{Seconds: seconds, Check: sum / float64(n)}
}

// prefill computes a prompt and the logits behind it, and checks by the log-probability of token 0 there.
func (e *ours) prefill(r request) answer {
	ids := r.IDs[0]
	seqs := []model.Seq{{Tokens: ids, Pages: e.pages(len(ids))}}
	logits := make([]float32, e.w.Config.Vocab)
	start := time.Now()
	hidden := e.runner.Forward(e.w, seqs, nil)
	e.runner.Logits(e.w, seqs, hidden, []int{len(ids) - 1}, logits)
	lse := e.compute.K.LogSumExp(logits)
	return answer{Seconds: time.Since(start).Seconds(), Check: float64(logits[0] - lse)}
}

// prepare computes a decoding row's context once and copies its pages for each sequence, so that none reads another's.
func (e *ours) prepare(r request) {
	if name := fmt.Sprint(r.Work, r.Sequences, len(r.IDs[0]), r.Steps); e.of != name {
		e.of, e.decoding, e.draws, e.rng = name, nil, nil, nil
		debug.FreeOSMemory()
	} else {
		return
	}
	ids := r.IDs[0]
	context := model.Seq{Tokens: ids[:len(ids)-1], Pages: e.pages(len(ids) + r.Steps)}
	e.runner.Forward(e.w, []model.Seq{context}, nil)
	for i := range r.Sequences {
		s := model.Seq{Tokens: make([]int32, 1)}
		for _, p := range context.Pages {
			q := *p
			q.Data = slices.Clone(p.Data)
			s.Pages = append(s.Pages, &q)
		}
		e.decoding = append(e.decoding, s)
		e.draws = append(e.draws, make([]float32, e.w.Config.Vocab))
		e.rng = append(e.rng, rand.New(rand.NewPCG(1, uint64(i))))
	}
}

// decode draws steps tokens for each sequence, the first behind the context's last token. As in the engine, each token comes with its
// log-probability.
func (e *ours) decode(r request) answer {
	V, ids, n := e.w.Config.Vocab, r.IDs[0], len(e.decoding)
	logits, rows := make([]float32, n*V), make([]int, n)
	for i := range e.decoding {
		rows[i] = i
		e.decoding[i].Tokens[0] = ids[len(ids)-1]
	}
	logp := make([]float32, n)
	start := time.Now()
	for step := range r.Steps {
		for i := range e.decoding {
			e.decoding[i].Pos = len(ids) - 1 + step
		}
		hidden := e.runner.Forward(e.w, e.decoding, nil)
		e.runner.Logits(e.w, e.decoding, hidden, rows, logits)
		e.compute.P.Run(n, func(i int, _ *kernel.Scratch) {
			row := logits[i*V : (i+1)*V]
			token := e.draw(i, row)
			e.decoding[i].Tokens[0], logp[i] = token, row[token]-e.compute.K.LogSumExp(row)
		})
	}
	return answer{Seconds: time.Since(start).Seconds()}
}

// draw draws a token of sequence i from softmax(row).
func (e *ours) draw(i int, row []float32) int32 {
	k, p := e.compute.K, e.draws[i]
	rest := e.rng[i].Float32() * k.ExpSum(p, row, k.Max(row))
	for t, x := range p {
		if rest -= x; rest < 0 {
			return int32(t)
		}
	}
	return int32(len(p) - 1)
}

// pages are empty pages for so many tokens.
func (e *ours) pages(tokens int) []*nn.Page {
	pages := make([]*nn.Page, (tokens+kernel.PageLen-1)/kernel.PageLen)
	for i := range pages {
		pages[i] = &nn.Page{Data: kernel.Aligned(e.w.Config.Pages().Floats())}
	}
	return pages
}
