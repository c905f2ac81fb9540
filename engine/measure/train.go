package measure

import (
	"fmt"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// training is what a training pass computes with, made once for a rank.
type training struct {
	adapter *model.Adapter
	grads   *model.Grads
	tape    *model.Tape
	again   bool // the tape recomputes
}

// Train runs forward, cross-entropy of every next token, and backward of a LoRA of that rank on all linears of the
// layers but not the unembedding, as peft's all-linear. With recompute the backward computes the activations again.
// Check is the mean loss.
func (b *Bench) Train(sequences [][]int32, rank int, recompute bool) (Result, error) {
	b.drop(false, true)
	if t := b.training; t == nil || t.adapter.LoRA.Rank != rank || t.again != recompute {
		if err := b.newTraining(rank, recompute); err != nil {
			return Result{}, err
		}
	}
	t := b.training
	var targets []int32
	var seqs []model.Seq
	for _, ids := range sequences {
		seqs = append(seqs, model.Seq{Tokens: ids, Pages: b.pages(len(ids)), Adapter: t.adapter})
		targets = append(append(targets, ids[1:]...), -1)
	}
	n := float32(len(targets) - len(sequences))
	logp := make([]float32, len(targets))
	t.grads.Zero()
	start := time.Now()
	hidden := b.runner.Forward(b.w, seqs, t.tape)
	b.runner.Score(b.w, seqs, hidden, model.Even(targets, 1), logp,
		func(_ int, _, g []float32) { g[0] = -1 / n }, t.tape)
	b.runner.Backward(b.w, seqs, t.tape, t.grads)
	seconds := time.Since(start).Seconds()
	sum := 0.0
	for _, x := range logp {
		sum -= float64(x)
	}
	return Result{Seconds: seconds, Check: sum / float64(n)}, b.runner.Err()
}

// newTraining makes the adapter, its gradient and the tape.
func (b *Bench) newTraining(rank int, recompute bool) error {
	l := model.LoRA{Rank: rank, Alpha: float64(rank), Attn: true, MLP: true}
	tensors := b.w.NewLoRA(l, 1)
	adapter, err := b.w.NewAdapter(l, tensors, b.compute.K)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	b.training = &training{adapter: adapter, grads: model.NewGrads(tensors), tape: b.runner.NewTape(recompute),
		again: recompute}
	return nil
}
