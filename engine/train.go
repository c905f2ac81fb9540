package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// checkedDatum is a datum of a request after its check, and its results.
type checkedDatum struct {
	index  int // in the request
	tokens []int32
	loss.Datum
	logp []float32 // [N,K], the result
	h    []float32 // [N] entropies, nil unless asked for
	mid  []float32 // [N] their centres
	sum  float64   // of its loss

	bad   bool // its gradient is not finite
	badAt int  // at that position
}

// check reads a request; everything wrong with it is a User error.
func (r *trainingRun) check(req tinker.ForwardRequest) (loss.Loss, []checkedDatum, error) {
	l, err := loss.New(req.LossFn, req.LossFnConfig)
	if err != nil {
		return l, nil, err
	}
	if len(req.Data) == 0 {
		return l, nil, tinker.Userf("engine: the request to model %s has no data; send at least one datum", r.id)
	}
	items := make([]checkedDatum, len(req.Data))
	for i, d := range req.Data {
		tokens, err := r.base.text(fmt.Sprintf("datum %d", i), d.ModelInput)
		if err != nil {
			return l, nil, err
		}
		items[i] = checkedDatum{index: i, tokens: tokens}
		if items[i].Datum, err = l.Check(i, d, r.base.config.Vocab); err != nil {
			return l, nil, err
		}
		items[i].logp = make([]float32, len(items[i].Targets))
		if l.Entropic() {
			items[i].h, items[i].mid = make([]float32, items[i].N), make([]float32, items[i].N)
		}
	}
	return l, items, nil
}

// text returns the tokens of an input that the model can read.
func (b *base) text(what string, in tinker.ModelInput) ([]int32, error) {
	tokens, ok := in.Tokens()
	if !ok {
		return nil, tinker.Userf("engine: %s has an image; base model %q reads text only", what, b.name)
	}
	if len(tokens) == 0 {
		return nil, tinker.Userf("engine: %s is empty; give at least one token", what)
	}
	if len(tokens) > b.context {
		return nil, tinker.Userf("engine: %s has %d tokens; the context of base model %q has %d", what, len(tokens),
			b.name, b.context)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= b.config.Vocab {
			return nil, tinker.Userf("engine: %s: token %d is %d; base model %q has tokens 0 to %d", what, i, t, b.name,
				b.config.Vocab-1)
		}
	}
	return tokens, nil
}

// forward runs a request, with its gradient if backward is set.
func (r *trainingRun) forward(req tinker.ForwardRequest, backward bool) (tinker.ForwardOutput, error) {
	l, items, err := r.check(req)
	if err != nil {
		return tinker.ForwardOutput{}, err
	}
	if backward {
		err = r.gradient(req, l, items)
	} else {
		err = r.scores(req, l, items)
	}
	if err != nil {
		return tinker.ForwardOutput{}, err
	}
	return output(items), nil
}

// scores computes datums without a gradient.
func (r *trainingRun) scores(req tinker.ForwardRequest, l loss.Loss, items []checkedDatum) error {
	if len(items) == 0 {
		return nil
	}
	if parts := r.e.numerics.parts(items); r.spreads(parts) {
		if err := r.spreadOver(req, l, parts, nil); !errors.Is(err, errDoubted) {
			return err
		}
		clearResults(items)
	}
	for _, part := range r.e.numerics.parts(items) {
		if err := r.pass(r.e.ctx, l, part, nil); err != nil {
			return err
		}
	}
	return nil
}

// pass computes items in micro-batches, the trees of their tokens one after another. into gets their gradient, unless
// it is nil. The size of micro-batches changes no bit: a gradient adds up row by row in the trees' order. It ends early
// when ctx does.
func (r *trainingRun) pass(ctx context.Context, l loss.Loss, items []checkedDatum, into *model.Grads) error {
	f := forest.Of(tokenLists(items), r.e.numerics.tree)
	room := r.e.opts.MicroBatch
	if into != nil {
		room = r.e.opts.room(r.base.config, f.Largest())
	}
	for _, trees := range f.Cut(room) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b := microBatch{loss: l, items: items, trees: trees, into: into, tokens: trees.Rows}
		if err := r.e.training.do(&job{r: r, ctx: ctx, microBatch: b}); err != nil {
			return err
		}
	}
	return nil
}

func tokenLists(items []checkedDatum) [][]int32 {
	all := make([][]int32, len(items))
	for i := range items {
		all[i] = items[i].tokens
	}
	return all
}

func output(items []checkedDatum) tinker.ForwardOutput {
	out := tinker.ForwardOutput{Metrics: map[string]float64{}}
	sum := 0.0
	for i := range items {
		sum += items[i].sum
		rec := map[string]tinker.Tensor{tinker.Logprobs: {Shape: items[i].Shape, Float: items[i].logp}}
		if items[i].h != nil {
			rec[tinker.Entropy], rec[tinker.EntropyCentre] = tinker.Floats(items[i].h), tinker.Floats(items[i].mid)
		}
		out.LossFnOutputs = append(out.LossFnOutputs, rec)
	}
	out.Metrics["loss:sum"] = sum
	return out
}

func finite(v []float32) bool {
	for _, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}
