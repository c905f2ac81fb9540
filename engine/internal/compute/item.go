package compute

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
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

	bad   bool // its gradient is not finite
	badAt int  // at that position
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

// Run computes items with the weights v in micro-batches of whole trees. into gets their gradient, unless it is nil.
// The size of micro-batches changes no bit: a gradient adds up row by row in the trees' order. It ends early when ctx
// does.
func (t *Loop) Run(ctx context.Context, m *Member, v *weights.Version, l loss.Loss, items []Item,
	into *model.Grads) error {
	tokens := make([][]int32, len(items))
	for i := range items {
		tokens[i] = items[i].tokens
	}
	f := forest.Of(tokens, t.Division.Tree)
	room := t.Limits.MicroBatch
	if into != nil {
		room = t.Limits.Room(v.Base.Config, f.Largest())
	}
	for _, trees := range f.Cut(room) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b := microBatch{loss: l, items: items, trees: trees, into: into, tokens: trees.Rows}
		if err := t.do(&job{m: m, version: v, ctx: ctx, microBatch: b}); err != nil {
			return err
		}
	}
	return nil
}
