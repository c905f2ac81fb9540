package tinkertest

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

func (s *suite) accumulate() {
	a, b := s.model(0), s.model(1)
	d1, d2, d3 := datum(some...), datum(8, 3, 5, 5, 20), datum(40, 2, 11)
	f, err := a.ForwardBackward(s.ctx, crossEntropy(d1, d2, d3))
	wait(s, f, err)
	for _, data := range [][]tinker.Datum{{d1}, {d2, d3}} { // the same datums in the same order, cut into two requests
		f, err := b.ForwardBackward(s.ctx, crossEntropy(data...))
		wait(s, f, err)
	}
	fo, err := b.Forward(s.ctx, crossEntropy(d2)) // adds nothing
	wait(s, fo, err)
	oa, aerr := a.OptimStep(s.ctx, adam(1e-2))
	ob, berr := b.OptimStep(s.ctx, adam(1e-2))
	na, nb := wait(s, oa, aerr).Metrics["grad_norm"], wait(s, ob, berr).Metrics["grad_norm"]
	most := 1e-3
	if s.caps.ExactLogprobs { // the sums differ in the last bits alone
		most = 1e-6
	}
	if na == 0 || math.Abs(na-nb) > most*na {
		s.Errorf("gradient norm %v in one request, %v in two", na, nb)
	}
	la, lb := s.logprobs(a, some...), s.logprobs(b, some...)
	for i := range la {
		if s.caps.ExactLogprobs && math.Abs(float64(la[i]-lb[i])) > 1e-5 {
			s.Errorf("after the step: logprobs %v and %v", la, lb)
			break
		}
	}
}

func (s *suite) learn() {
	c := s.model(0)
	var losses []float64
	for range 12 {
		f, err := c.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
		o, oerr := c.OptimStep(s.ctx, adam(2e-2)) // sent before the first result
		losses = append(losses, wait(s, f, err).Metrics["loss:sum"])
		wait(s, o, oerr)
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < 0.7*first) {
		s.Errorf("loss went from %v to %v in 12 steps on one sequence", first, last)
	}
}

// dimuon: the other optimizer of a service learns too, its model names it, and each accepts its own settings only. A
// refused step keeps the gradient.
func (s *suite) dimuon() {
	if !s.caps.ExactLogprobs {
		s.Skip("asked of this project's services only")
	}
	req := s.createRequest(0)
	req.OptimizerType = tinker.Dimuon
	c, err := s.svc.CreateModel(s.ctx, req)
	if err != nil {
		s.Fatal(err)
	}
	if info, err := c.Info(s.ctx); err != nil || info.OptimizerType != req.OptimizerType {
		s.Errorf("a model with Dimuon is %+v, %v", info, err)
	}
	p := tinker.DefaultDimuon()
	p.LearningRate = 2e-2
	var losses []float64
	for range 12 {
		f, err := c.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
		losses = append(losses, wait(s, f, err).Metrics["loss:sum"])
		o, err := c.OptimStep(s.ctx, adam(1e-2))
		if err == nil {
			_, err = o.Wait(s.ctx)
		}
		if tinker.CategoryOf(err) != tinker.User {
			s.Errorf("AdamW's settings for Dimuon: %v, want a user error", err)
		}
		o, err = c.OptimStep(s.ctx, tinker.OptimStepRequest{Dimuon: &p})
		if norm := wait(s, o, err).Metrics["grad_norm"]; !(norm > 0) {
			s.Errorf("gradient norm %v", norm)
		}
	}
	if first, last := losses[0], losses[len(losses)-1]; !(last < 0.7*first) {
		s.Errorf("loss went from %v to %v in 12 steps on one sequence", first, last)
	}
}

func (s *suite) custom() {
	a, b := s.model(0), s.model(1)
	d := datum(some...)
	w := d.LossFnInputs[tinker.Weights].Float
	want := s.logprobs(a, some...)
	f, err := a.ForwardBackward(s.ctx, crossEntropy(datum(some...)))
	wait(s, f, err)
	g, used, err := tinker.ForwardBackwardCustom(s.ctx, b, tinker.ForwardRequest{Data: []tinker.Datum{d}}, nil,
		func(lp [][]float32) ([][]float32, error) {
			if s.caps.ExactLogprobs && !sameBits(lp[0], want) {
				s.Errorf("the custom loss got logprobs %v, want %v", lp[0], want)
			}
			grad := make([]float32, len(w))
			for i := range w {
				grad[i] = -w[i] // of the same loss
			}
			return [][]float32{grad}, nil
		})
	wait(s, g, err)
	if used != 2 {
		s.Errorf("the custom loss took %d seq_ids, want 2", used)
	}
	oa, aerr := a.OptimStep(s.ctx, adam(1e-2))
	ob, berr := b.OptimStep(s.ctx, adam(1e-2))
	wait(s, oa, aerr)
	wait(s, ob, berr)
	if la, lb := s.logprobs(a, some...), s.logprobs(b, some...); s.caps.ExactLogprobs && !sameBits(la, lb) {
		s.Errorf("after the step: logprobs %v and %v", la, lb)
	}
}
