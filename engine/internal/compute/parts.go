package compute

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/executor"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/forest"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The gradient of a request is a sum of parts. A part is the gradient of consecutive datums, begun at zero, and depends
// on nothing else than them and the weights; the parts are added to the run's gradient in their order. So the
// sum has the same bits wherever a part is computed.

// Division is how the datums of a request are divided. It belongs to the arithmetic.
type Division struct {
	Part int // most tokens of a part of a gradient; 0: a gradient is one part, which continues that of earlier requests
	Tree int // most tokens of a tree of datums that share their beginnings; 0: they share nothing
}

// Parts cuts a request's datums: consecutive ones whose trees have at most d.Part tokens together, or a longer one
// alone.
func (d Division) Parts(items []Item) [][]Item {
	if d.Part == 0 {
		return [][]Item{items}
	}
	var all [][]Item
	from, f := 0, forest.Grow(d.Tree)
	for i := range items {
		if n := f.Missing(items[i].tokens); i > from && n > 0 && f.Tokens+n > d.Part {
			all = append(all, items[from:i])
			from, f = i, forest.Grow(d.Tree)
		}
		f.Add(items[i].tokens)
	}
	return append(all, items[from:])
}

// Silent separates the datums at which a loss has no derivative, whatever the weights are, from the others.
func Silent(l loss.Loss, items []Item) (silent, teaching []Item) {
	for _, it := range items {
		if l.Silent(it.Datum) {
			silent = append(silent, it)
		} else {
			teaching = append(teaching, it)
		}
	}
	return silent, teaching
}

// Join puts computed items into their places in a request's.
func Join(items []Item, computed ...[]Item) {
	for _, some := range computed {
		for _, it := range some {
			items[it.index] = it
		}
	}
}

// Tokens is the number of tokens of items.
func Tokens(items []Item) (n int) {
	for i := range items {
		n += len(items[i].tokens)
	}
	return n
}

// Result is the answer to a request whose items are computed.
func Result(l loss.Loss, items []Item) tinker.ForwardOutput {
	out := tinker.ForwardOutput{Metrics: map[string]float64{}}
	sum := 0.0
	for i := range items {
		sum += items[i].sum
		rec := map[string]tinker.Tensor{tinker.Logprobs: {Shape: items[i].Shape, Float: items[i].logp}}
		if items[i].h != nil {
			rec[tinker.Entropy], rec[tinker.EntropyCentre] = tinker.Floats(items[i].h), tinker.Floats(items[i].mid)
		}
		out.LossFnOutputs = append(out.LossFnOutputs, rec)
		l.Report(out.Metrics, items[i].Datum, items[i].logp)
	}
	out.Metrics["loss:sum"] = sum
	return out
}

// Outputs are the results of computed items.
func Outputs(items []Item) []executor.Output {
	outs := make([]executor.Output, len(items))
	for i, it := range items {
		outs[i] = executor.Output{Logprobs: it.logp, Entropy: it.h, Centre: it.mid, Loss: it.sum}
	}
	return outs
}

// Fill sets the results of items that were computed elsewhere.
func Fill(items []Item, outs []executor.Output) {
	for i, o := range outs {
		items[i].logp, items[i].h, items[i].mid, items[i].sum = o.Logprobs, o.Entropy, o.Centre, o.Loss
	}
}

// Apart copies items with results of their own: the pool may be first with its.
func Apart(items []Item) []Item {
	items = slices.Clone(items)
	for i := range items {
		it := &items[i]
		it.logp = make([]float32, len(it.logp))
		if it.h != nil {
			it.h, it.mid = make([]float32, len(it.h)), make([]float32, len(it.mid))
		}
	}
	return items
}

// Clear lets items be computed again.
func Clear(items []Item) {
	for i := range items {
		items[i].sum = 0
	}
}

// Batch makes items of a request the batch of a task.
func Batch(req tinker.ForwardRequest, items []Item) executor.Batch {
	b := executor.Batch{Loss: req.LossFn, Config: req.LossFnConfig}
	for i := range items {
		b.Data = append(b.Data, items[i].datum())
	}
	return b
}

// datum makes an item the datum of a task, with the inputs that its loss reads.
func (it *Item) datum() tinker.Datum {
	inputs := map[string]tinker.Tensor{tinker.TargetTokens: {Shape: it.Shape, Int: tinker.TokenInts(it.Targets).Int}}
	for key, v := range map[string][]float32{tinker.Weights: it.Weights, tinker.Logprobs: it.Logprobs,
		tinker.Advantages: it.Advantages, tinker.SequenceRatioMask: it.RatioMask, tinker.SampledMask: it.Sampled,
		tinker.RefLogprobs: it.Reference} {
		if v != nil {
			inputs[key] = tinker.Tensor{Shape: it.Shape, Float: v}
		}
	}
	if it.EntropyWeights != nil {
		inputs[tinker.EntropyWeights] = tinker.Floats(it.EntropyWeights)
	}
	return tinker.Datum{ModelInput: tinker.Text(it.tokens), LossFnInputs: inputs}
}
