package fake

import (
	"cmp"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/loss"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/optim"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// state is changed by requests. Its bias of class c is gain·A·B[c]: a LoRA adapter of rank 1.
type state struct {
	Kind    string // of the optimizer
	A, B    []float32
	GradA   []float32
	GradB   []float32
	Moments [][]float32 // of A and B: AdamW's m, m, v, v, or Dimuon's m, m
	Step    int64
}

// newState has an A from the seed and a B of zeros: the base model.
func newState(t table, seed uint64, kind string) state {
	r := rng.New(seed).Stream("fake")
	s := state{A: []float32{0.5 + float32(r.Float32()/2)}, B: make([]float32, classes+1)}
	s.clear()
	s.reset(kind)
	return s
}

func (s *state) clear() { s.GradA, s.GradB = make([]float32, 1), make([]float32, classes+1) }

// reset begins an optimizer anew.
func (s *state) reset(kind string) {
	kind = cmp.Or(kind, tinker.AdamW)
	s.Kind, s.Step, s.Moments = kind, 0, nil
	for _, n := range []int{1, classes + 1, 1, classes + 1} {
		s.Moments = append(s.Moments, make([]float32, n))
	}
}

func (s *state) bias() (b [classes + 1]float64) {
	for c, v := range s.B {
		b[c] = gain * float64(s.A[0]) * float64(v)
	}
	return b
}

// step applies the gradient and clears it.
func (s *state) step(req tinker.OptimStepRequest) (out tinker.OptimStepOutput, err error) {
	if (req.Dimuon != nil) != (s.Kind == tinker.Dimuon) {
		return out, tinker.Userf("fake: the optim_step has settings of another optimizer than %s", s.Kind)
	}
	params, grads := [][]float32{s.A, s.B}, [][]float32{s.GradA, s.GradB}
	var norm float64
	if req.Dimuon == nil {
		a := optim.AdamW{M: s.Moments[:2], V: s.Moments[2:], Step: s.Step}
		norm, err = a.Update(params, grads, req.Adam, inOrder)
		s.Step = a.Step
	} else {
		d := optim.Dimuon{M: s.Moments[:2], Step: s.Step}
		norm, err = d.Update(params, grads, []optim.Pair{{A: 0, B: 1, Rank: 1, In: 1, Out: classes + 1}}, *req.Dimuon,
			inOrder)
		s.Step = d.Step
	}
	if err != nil {
		return out, tinker.Userf("fake: optim_step: %w", err)
	}
	s.clear()
	return tinker.OptimStepOutput{Metrics: map[string]float64{"grad_norm": norm}}, nil
}

func inOrder(parts int, f func(int)) {
	for i := range parts {
		f(i)
	}
}

// forward computes the loss of a batch, and with back adds its gradient.
func (r *run) forward(req tinker.ForwardRequest, back bool) (out tinker.ForwardOutput, err error) {
	l, err := loss.New(req.LossFn, req.LossFnConfig)
	if err != nil {
		return out, err
	}
	if len(req.Data) == 0 {
		return out, tinker.Userf("fake: the request has no data")
	}
	list := make([]loss.Datum, len(req.Data))
	for i, d := range req.Data {
		if _, err := r.base.text(fmt.Sprint("datum ", i), d.ModelInput); err != nil {
			return out, err
		}
		if list[i], err = l.Check(i, d, r.base.table.vocab); err != nil {
			return out, err
		}
	}
	g := newGradient(&r.base.table, &r.state)
	total := 0.0
	out.Metrics = map[string]float64{}
	for i := range list {
		tokens, _ := req.Data[i].ModelInput.Tokens()
		record, sum := g.datum(l, &list[i], tokens)
		out.LossFnOutputs = append(out.LossFnOutputs, record)
		total += sum
		l.Report(out.Metrics, list[i], record[tinker.Logprobs].Float)
	}
	if math.IsNaN(total) || math.IsInf(total, 0) {
		return tinker.ForwardOutput{}, tinker.Userf("fake: the loss is %v", total)
	}
	if back {
		g.into(&r.state)
	}
	out.Metrics["loss:sum"] = total
	return out, nil
}

// gradient is the gradient of a request by the biases.
type gradient struct {
	table   *table
	factors [classes + 1]float64
	sum     [classes + 1]float64
}

func newGradient(t *table, s *state) gradient {
	bias := s.bias()
	return gradient{table: t, factors: t.factors(&bias)}
}

// datum computes one sequence: its outputs and its loss.
func (g *gradient) datum(l loss.Loss, d *loss.Datum, tokens []int32) (map[string]tinker.Tensor, float64) {
	rows, at := make([]*row, d.N), g.table.start()
	logp := make([]float32, d.N*d.K)
	for i := range rows {
		at = g.table.then(at, tokens[i])
		rows[i] = g.table.row(at, &g.factors)
		for k := range d.K {
			logp[i*d.K+k] = rows[i].of(d.Targets[i*d.K+k])
		}
	}
	l.Prepare(d, logp)
	var entropies, centres []float32
	total, by := 0.0, make([]float32, d.K)
	for i, r := range rows {
		total += l.Row(*d, i, logp[i*d.K:(i+1)*d.K], by)
		for k, b := range by {
			g.add(r, r.t.class[d.Targets[i*d.K+k]], float64(b))
		}
		if !l.Entropic() {
			continue
		}
		h, centre, logs := r.entropy()
		entropies, centres = append(entropies, float32(h)), append(centres, float32(centre))
		v, by := l.Entropy(*d, i, float32(h))
		total += v
		for c, m := range r.mass {
			g.sum[c] -= float64(by * m * (logs[c] + h))
		}
	}
	record := map[string]tinker.Tensor{tinker.Logprobs: {Shape: d.Shape, Float: logp}}
	if l.Entropic() {
		record[tinker.Entropy], record[tinker.EntropyCentre] = tinker.Floats(entropies), tinker.Floats(centres)
	}
	return record, total
}

// add adds the derivative by the logits of a loss whose derivative by the log-probability of a class's token is by.
func (g *gradient) add(r *row, class int, by float64) {
	if by == 0 {
		return
	}
	g.sum[class] += by
	for c, m := range r.mass {
		g.sum[c] -= float64(by * m)
	}
}

// into adds the gradient by A and B to a state.
func (g *gradient) into(s *state) {
	for c, v := range g.sum {
		s.GradB[c] += float32(gain * v * float64(s.A[0]))
		s.GradA[0] += float32(gain * v * float64(s.B[c]))
	}
}

// text returns the tokens of an input; images, unknown tokens and too many of them are User errors.
func (b *base) text(what string, in tinker.ModelInput) ([]int32, error) {
	tokens, ok := in.Tokens()
	if !ok || len(tokens) == 0 || len(tokens) > b.context {
		return nil, tinker.Userf("fake: %s has %d tokens; it must be text of 1 to %d", what, in.Len(), b.context)
	}
	for _, t := range tokens {
		if t < 0 || int(t) >= b.table.vocab {
			return nil, tinker.Userf("fake: %s has token %d; the vocabulary has %d", what, t, b.table.vocab)
		}
	}
	return tokens, nil
}
