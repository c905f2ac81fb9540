package tinker

import (
	"context"
	"fmt"
)

// CustomLoss gets the logprobs of every datum's targets, nats, shape [N] each. It returns the gradient of the caller's
// loss with respect to each of them, in the same shapes, or nil for a datum whose gradient is zero and that need not be
// sent: on a service with Capabilities.SilentDatums this changes no bit.
type CustomLoss func(logprobs [][]float32) (gradient [][]float32, err error)

// ForwardBackwardCustom adds the gradient of a custom loss: a forward gives the logprobs, loss gives d loss/d logprob,
// and a forward_backward of cross_entropy with weights −d loss/d logprob has exactly that gradient, since its loss is
// −Σ w·logp. known, if not nil, are the logprobs that the forward would return (the sampler's, on a service with exact
// logprobs and weights that have not changed since); the forward is then left out. used is the number of SeqIDs.
//
// The forward_backward also has the entropy_coef of the request's LossFnConfig and the data's entropy_weights.
func ForwardBackwardCustom(ctx context.Context, c TrainingClient, req ForwardRequest, known [][]float32,
	loss CustomLoss) (f *Future[ForwardOutput], used int64, err error) {
	data := make([]Datum, len(req.Data))
	for i, d := range req.Data {
		data[i] = withWeights(d, make([]float32, d.LossFnInputs[TargetTokens].Len()))
	}
	if known == nil {
		if known, used, err = forwardLogprobs(ctx, c,
			ForwardRequest{SeqID: req.SeqID, Data: data, LossFn: CrossEntropy}); err != nil {
			return nil, used, err
		}
		if req.SeqID > 0 {
			req.SeqID += used
		}
	}
	grad, err := loss(known)
	if err != nil {
		return nil, used, fmt.Errorf("tinker: custom loss: %w", err)
	}
	sent, err := weigh(data, grad)
	if err != nil {
		return nil, used, err
	}
	back := ForwardRequest{SeqID: req.SeqID, LossFn: CrossEntropy}
	if coef, ok := req.LossFnConfig[EntropyCoef]; ok {
		back.LossFnConfig = map[string]float64{EntropyCoef: coef}
		for i, d := range req.Data {
			if w, ok := d.LossFnInputs[EntropyWeights]; ok {
				data[i].LossFnInputs[EntropyWeights] = w
			}
		}
	}
	back.Data = pick(data, sent)
	f, n, err := Submit(ctx, c, back, true)
	if err == nil && len(sent) < len(data) {
		f = Then(f, func(out ForwardOutput) (ForwardOutput, error) { return withKnown(out, data, sent, known) })
	}
	return f, used + n, err
}

// weigh sets the weights of data to minus a gradient. It returns which datums are sent: those with a gradient, and at
// least one.
func weigh(data []Datum, grad [][]float32) (sent []int, err error) {
	if len(grad) != len(data) {
		return nil, fmt.Errorf("tinker: custom loss returned %d gradients for %d datums", len(grad), len(data))
	}
	for i, g := range grad {
		if g == nil {
			continue
		}
		sent = append(sent, i)
		if len(g) != data[i].LossFnInputs[TargetTokens].Len() {
			return nil, fmt.Errorf("tinker: custom loss returned %d gradients for the %d targets of datum %d", len(g),
				data[i].LossFnInputs[TargetTokens].Len(), i)
		}
		w := data[i].LossFnInputs[Weights].Float
		for j, v := range g {
			w[j] = -v
		}
	}
	if len(sent) == 0 {
		sent = []int{0}
	}
	return sent, nil
}

func pick(data []Datum, which []int) []Datum {
	some := make([]Datum, len(which))
	for i, at := range which {
		some[i] = data[at]
	}
	return some
}

// withKnown puts the logprobs of datums that were not sent between the results of the others.
func withKnown(out ForwardOutput, data []Datum, sent []int, known [][]float32) (ForwardOutput, error) {
	if len(out.LossFnOutputs) != len(sent) {
		return out, Serverf("tinker: the service returned %d results for %d datums", len(out.LossFnOutputs), len(sent))
	}
	all := make([]map[string]Tensor, len(data))
	for i, at := range sent {
		all[at] = out.LossFnOutputs[i]
	}
	for i := range all {
		if all[i] == nil {
			all[i] = map[string]Tensor{Logprobs: {Shape: data[i].LossFnInputs[TargetTokens].Shape, Float: known[i]}}
		}
	}
	out.LossFnOutputs = all
	return out, nil
}

func withWeights(d Datum, w []float32) Datum {
	target := d.LossFnInputs[TargetTokens]
	return Datum{ModelInput: d.ModelInput, LossFnInputs: map[string]Tensor{
		TargetTokens: target, Weights: {Shape: target.Shape, Float: w},
	}}
}

func forwardLogprobs(ctx context.Context, c TrainingClient, req ForwardRequest) ([][]float32, int64, error) {
	f, used, err := Submit(ctx, c, req, false)
	if err != nil {
		return nil, used, err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return nil, used, err
	}
	lp := make([][]float32, len(req.Data))
	for i, d := range req.Data {
		if i < len(out.LossFnOutputs) {
			lp[i] = out.LossFnOutputs[i][Logprobs].Float
		}
		if len(lp[i]) != d.LossFnInputs[TargetTokens].Len() {
			return nil, used, Serverf("tinker: the service returned %d logprobs for the %d targets of datum %d",
				len(lp[i]), d.LossFnInputs[TargetTokens].Len(), i)
		}
	}
	return lp, used, nil
}
