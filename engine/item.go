package engine

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// item is a datum of a request after its check, and its results.
type item struct {
	index  int // in the request
	tokens []int32
	loss.Datum
	logp []float32 // [N,K], the result
	h    []float32 // [N] entropies, nil unless asked for
	mid  []float32 // [N] their centres
	sum  float64   // of its loss
}

// check reads a request to a model on b; everything wrong with it is a User error.
func check(model string, b *base, req tinker.ForwardRequest) (loss.Loss, []item, error) {
	l, err := loss.New(req.LossFn, req.LossFnConfig)
	if err != nil {
		return l, nil, err
	}
	if len(req.Data) == 0 {
		return l, nil, tinker.Userf("engine: the request to model %s has no data; send at least one datum", model)
	}
	items := make([]item, len(req.Data))
	for i, d := range req.Data {
		tokens, err := b.text(fmt.Sprintf("datum %d", i), d.ModelInput)
		if err != nil {
			return l, nil, err
		}
		items[i] = item{index: i, tokens: tokens}
		if items[i].Datum, err = l.Check(i, d, b.config.Vocab); err != nil {
			return l, nil, err
		}
		items[i].logp = make([]float32, len(items[i].Targets))
		if l.Entropic() {
			items[i].h, items[i].mid = make([]float32, items[i].N), make([]float32, items[i].N)
		}
	}
	return l, items, nil
}

// run computes items in micro-batches with the weights v. into gets their gradient, unless it is nil. The size of micro-batches changes
// no bit: a gradient adds up token by token in the items' order. It ends early when ctx does.
func (t *computeLoop) run(ctx context.Context, m *member, v *version, l loss.Loss, items []item,
	into *model.Grads) error {
	for rest := items; len(rest) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, tokens := t.limits.cut(v.base.config, rest, into != nil)
		b := microBatch{loss: l, items: rest[:n], into: into, tokens: tokens}
		if err := t.do(&job{m: m, version: v, ctx: ctx, microBatch: b}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}
