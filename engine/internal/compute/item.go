package compute

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/weights"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Item is a datum of a request after its check, and its results.
type Item struct {
	index  int // in the request
	tokens []int32
	loss.Datum
	logp []float32 // [N,K], the result
	h    []float32 // [N] entropies, nil unless asked for
	mid  []float32 // [N] their centres
	sum  float64   // of its loss
}

// Check reads a request to a model on b; everything wrong with it is a User error.
func Check(model string, b *weights.Base, req tinker.ForwardRequest) (loss.Loss, []Item, error) {
	l, err := loss.New(req.LossFn, req.LossFnConfig)
	if err != nil {
		return l, nil, err
	}
	if len(req.Data) == 0 {
		return l, nil, tinker.Userf("engine: the request to model %s has no data; send at least one datum", model)
	}
	items := make([]Item, len(req.Data))
	for i, d := range req.Data {
		tokens, err := b.Text(fmt.Sprintf("datum %d", i), d.ModelInput)
		if err != nil {
			return l, nil, err
		}
		items[i] = Item{index: i, tokens: tokens}
		if items[i].Datum, err = l.Check(i, d, b.Config.Vocab); err != nil {
			return l, nil, err
		}
		items[i].logp = make([]float32, len(items[i].Targets))
		if l.Entropic() {
			items[i].h, items[i].mid = make([]float32, items[i].N), make([]float32, items[i].N)
		}
	}
	return l, items, nil
}

// Run computes items in micro-batches with the weights v. into gets their gradient, unless it is nil. The size of
// micro-batches changes no bit: a gradient adds up token by token in the items' order. It ends early when ctx does.
func (t *Loop) Run(ctx context.Context, m *Member, v *weights.Version, l loss.Loss, items []Item,
	into *model.Grads) error {
	for rest := items; len(rest) > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, tokens := t.Limits.cut(v.Base.Config, rest, into != nil)
		b := microBatch{loss: l, items: rest[:n], into: into, tokens: tokens}
		if err := t.do(&job{m: m, version: v, ctx: ctx, microBatch: b}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}
