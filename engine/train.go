package engine

import (
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/cache"
	"github.com/seed-d9ad8ee0/trinity/loss"
	"github.com/seed-d9ad8ee0/trinity/model"
	"github.com/seed-d9ad8ee0/trinity/nn"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// item is one checked datum.
type item struct {
	index  int // in the request
	tokens []int32
	loss.Datum
	logp []float32 // [N,K], the result
	h    []float32 // [N] entropies, nil unless asked for
	mid  []float32 // [N] their centres
	sum  float64   // of its loss
}

// check reads a request; everything wrong with it is a User error.
func (r *run) check(req tinker.ForwardRequest) (loss.Loss, []item, error) {
	l, err := loss.New(req.LossFn, req.LossFnConfig)
	if err != nil {
		return l, nil, err
	}
	if len(req.Data) == 0 {
		return l, nil, tinker.Userf("engine: the request to model %s has no data", r.id)
	}
	items := make([]item, len(req.Data))
	for i, d := range req.Data {
		tokens, err := r.base.text(fmt.Sprintf("datum %d", i), d.ModelInput)
		if err != nil {
			return l, nil, err
		}
		items[i] = item{index: i, tokens: tokens}
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
		return nil, tinker.Userf("engine: %s has %d tokens; the context of base model %q has %d", what, len(tokens), b.name, b.context)
	}
	for i, t := range tokens {
		if t < 0 || int(t) >= b.config.Vocab {
			return nil, tinker.Userf("engine: %s: token %d is %d; base model %q has tokens 0 to %d", what, i, t, b.name, b.config.Vocab-1)
		}
	}
	return tokens, nil
}

// forward runs a request in micro-batches. How it is cut changes no bit: gradients add up token by token in the request's order.
func (r *run) forward(req tinker.ForwardRequest, backward bool) (tinker.ForwardOutput, error) {
	l, items, err := r.check(req)
	if err != nil {
		return tinker.ForwardOutput{}, err
	}
	undo := func() {}
	if backward {
		undo = r.mark()
	}
	for rest := items; len(rest) > 0; {
		n := r.cut(rest)
		if err := r.micro(l, rest[:n], backward); err != nil {
			undo()
			return tinker.ForwardOutput{}, err
		}
		rest = rest[n:]
	}
	if backward {
		if name := r.badGradient(); name != "" {
			undo()
			return tinker.ForwardOutput{}, tinker.Userf("engine: model %s: the gradient of %s is not finite; it was left out", r.id, name)
		}
	}
	return output(items), nil
}

func output(items []item) tinker.ForwardOutput {
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

// cut returns how many of the items, at least one, make the next micro-batch: as many as fit whose rows have equally many targets.
func (r *run) cut(items []item) int {
	room := r.e.opts.MicroBatch
	if n := int(r.e.opts.TapeBytes / tapeBytes(r.base.config, true)); n < room {
		room = n
	}
	n := 0
	for n < len(items) && items[n].K == items[0].K {
		if room -= len(items[n].tokens); room < 0 && n > 0 {
			break
		}
		n++
	}
	return n
}

// tapeBytes estimates what the backward of one token needs.
func tapeBytes(c model.Config, recompute bool) int64 {
	layer := 6*c.Dim + 3*c.Heads*c.HeadDim + 4*c.KVHeads*c.HeadDim + 4*c.FF
	if recompute {
		return int64(4 * (c.Layers*c.Dim + layer))
	}
	return int64(4 * c.Layers * layer)
}

// micro computes one micro-batch in one turn.
func (r *run) micro(l loss.Loss, items []item, backward bool) error {
	seqs, pages := r.sequences(items)
	defer r.base.cache.Release(pages)
	r.e.turn.train()
	defer r.e.turn.done()
	if r.e.ctx.Err() != nil {
		return errClosed()
	}
	rows := newRows(l, items)
	w, runner := r.version.w, r.e.trainer
	if !backward {
		hidden := runner.Forward(w, seqs, nil)
		if err := r.computed(items); err != nil {
			return err
		}
		runner.ScoreEntropy(w, seqs, hidden, rows.targets, rows.k, rows.logp, nil, nil, rows.entropies)
		return rows.finish(r, l, items, nil)
	}
	tape := r.e.tape(int64(len(rows.item))*tapeBytes(w.Config, false) > r.e.opts.TapeBytes)
	hidden := runner.Forward(w, seqs, tape)
	if err := r.computed(items); err != nil {
		return err
	}
	bad := make([]bool, len(rows.item))
	runner.ScoreEntropy(w, seqs, hidden, rows.targets, rows.k, rows.logp, func(row int, logp, g []float32) {
		it := &items[rows.item[row]]
		l.Row(it.Datum, row-rows.first[rows.item[row]], logp, g)
		bad[row] = !finite(g)
	}, tape, rows.entropies)
	if err := rows.finish(r, l, items, bad); err != nil {
		return err
	}
	r.gathered = true
	runner.Backward(w, seqs, tape, r.grads)
	return nil
}

// computed says how the runner's last Forward went.
func (r *run) computed(items []item) error {
	if err := r.e.trainer.Err(); err != nil {
		return tinker.Userf("engine: model %s, datums %d to %d: %w", r.id, items[0].index, items[len(items)-1].index, err)
	}
	return nil
}

// tape returns the memory of a forward that a backward follows; the caller has the turn.
func (e *Engine) tape(recompute bool) *model.Tape {
	i := 0
	if recompute {
		i = 1
	}
	if e.tapes[i] == nil {
		e.tapes[i] = e.trainer.NewTape(recompute)
	}
	return e.tapes[i]
}

// sequences gives each item its pages.
func (r *run) sequences(items []item) ([]model.Seq, []*cache.Page) {
	seqs, total := make([]model.Seq, len(items)), 0
	for i := range items {
		total += pagesFor(len(items[i].tokens))
	}
	pages := r.base.cache.Alloc(total, true)
	at := 0
	for i := range items {
		n := pagesFor(len(items[i].tokens))
		view := make([]*nn.Page, n)
		for j := range view {
			view[j] = &pages[at+j].Page
		}
		at += n
		seqs[i] = model.Seq{Tokens: items[i].tokens, Pages: view, Adapter: r.version.adapter}
	}
	return seqs, pages
}

func pagesFor(tokens int) int { return (tokens + cache.PageLen - 1) / cache.PageLen }

// rows is a micro-batch's positions, one after another.
type rows struct {
	k       int
	item    []int // of each row
	first   []int // row of each item
	targets []int32
	logp    []float32

	entropies *model.Entropies // nil unless asked for
}

func newRows(l loss.Loss, items []item) rows {
	r := rows{k: items[0].K}
	for i := range items {
		r.first = append(r.first, len(r.item))
		for range items[i].tokens {
			r.item = append(r.item, i)
		}
		r.targets = append(r.targets, items[i].Targets...)
	}
	r.logp = make([]float32, len(r.targets))
	if l.Entropic() {
		n := len(r.item)
		r.entropies = &model.Entropies{H: make([]float32, n), Centre: make([]float32, n), G: make([]float32, 0, n)}
		for _, it := range items {
			for pos := range it.N {
				_, g := l.Entropy(it.Datum, pos, 0)
				r.entropies.G = append(r.entropies.G, float32(g))
			}
		}
	}
	return r
}

// finish hands the log-probabilities to their items and sums up the losses, position by position. bad, if not nil, says which
// rows' gradients are not finite.
func (w rows) finish(r *run, l loss.Loss, items []item, bad []bool) error {
	for i := range items {
		it, first := &items[i], w.first[i]
		copy(it.logp, w.logp[first*w.k:])
		if w.entropies != nil {
			copy(it.h, w.entropies.H[first:])
			copy(it.mid, w.entropies.Centre[first:])
		}
		for pos := range it.N {
			logp := it.logp[pos*w.k : (pos+1)*w.k]
			it.sum += l.Row(it.Datum, pos, logp, nil)
			if it.h != nil {
				e, _ := l.Entropy(it.Datum, pos, it.h[pos])
				it.sum += e
			}
			if !finite(logp) {
				return tinker.Userf("engine: model %s: the log-probability of datum %d at position %d is %v; the weights have overflowed", r.id, it.index, pos, logp)
			}
			if bad != nil && bad[first+pos] || math.IsNaN(it.sum) || math.IsInf(it.sum, 0) {
				return tinker.Userf("engine: model %s: %s of datum %d overflows at position %d (logprob %v)", r.id, l.Name(), it.index, pos, logp)
			}
		}
	}
	return nil
}

func finite(v []float32) bool {
	for _, x := range v {
		if math.Float32bits(x)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}
