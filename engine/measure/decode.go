package measure

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// decoding is sequences that continue a computed context, each with its own pages.
type decoding struct {
	context []int32
	steps   int // that the pages have room for
	seqs    []model.Seq
	probs   [][]float32  // [sequences][V] memory of the draws
	rng     []*rand.Rand // of each sequence
}

// Decode draws steps tokens for each of that many sequences, beginning after the context's last token. As in the
// engine, each token comes with its log-probability. The context is computed before the clock starts, and kept for the
// next call with the same arguments. Check is 0: the draws are random.
func (b *Bench) Decode(context []int32, sequences, steps int) (Result, error) {
	b.drop(true, false)
	d := b.decoding
	if d == nil || len(d.seqs) != sequences || d.steps != steps || !slices.Equal(d.context, context) {
		b.newDecoding(context, sequences, steps)
		d = b.decoding
	}
	V, n := b.w.Config.Vocab, sequences
	logits, rows := make([]float32, n*V), make([]int, n)
	for i := range d.seqs {
		rows[i] = i
		d.seqs[i].Tokens[0] = context[len(context)-1]
	}
	logp := make([]float32, n)
	start := time.Now()
	for step := range steps {
		for i := range d.seqs {
			d.seqs[i].Pos = len(context) - 1 + step
		}
		hidden := b.runner.Forward(b.w, d.seqs, nil)
		b.runner.Logits(b.w, d.seqs, hidden, rows, logits)
		b.compute.P.Run(n, func(i int, _ *kernel.Scratch) {
			row := logits[i*V : (i+1)*V]
			token := d.draw(b.compute.K, i, row)
			d.seqs[i].Tokens[0], logp[i] = token, row[token]-b.compute.K.LogSumExp(row)
		})
	}
	return Result{Seconds: time.Since(start).Seconds()}, b.runner.Err()
}

// newDecoding computes the context once and copies its pages for each sequence, so that none reads another's.
func (b *Bench) newDecoding(context []int32, sequences, steps int) {
	b.decoding = nil
	debug.FreeOSMemory()
	prefix := model.Seq{Tokens: context[:len(context)-1], Pages: b.pages(len(context) + steps),
		Memory: b.memory()}
	b.runner.Forward(b.w, []model.Seq{prefix}, nil)
	d := &decoding{context: slices.Clone(context), steps: steps}
	for i := range sequences {
		s := model.Seq{Tokens: make([]int32, 1)}
		for _, p := range prefix.Pages {
			q := *p
			q.Data = slices.Clone(p.Data)
			s.Pages = append(s.Pages, &q)
		}
		if s.Memory = b.memory(); s.Memory != nil {
			s.Memory.Copy(prefix.Memory)
		}
		d.seqs = append(d.seqs, s)
		d.probs = append(d.probs, make([]float32, b.w.Config.Vocab))
		d.rng = append(d.rng, rand.New(rand.NewPCG(1, uint64(i))))
	}
	b.decoding = d
}

// draw draws a token of sequence i from softmax(row).
func (d *decoding) draw(k *kernel.Set, i int, row []float32) int32 {
	p := d.probs[i]
	rest := d.rng[i].Float32() * k.ExpSum(p, row, k.Max(row))
	for t, x := range p {
		if rest -= x; rest < 0 {
			return int32(t)
		}
	}
	return int32(len(p) - 1)
}
