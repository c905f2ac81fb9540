package tinker

import (
	"context"
	"fmt"
)

// CustomLoss gets the logprobs of every datum's targets, nats, shape [N] each. It returns the gradient of the caller's
// loss with respect to each of them, in the same shapes.
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
	if len(grad) != len(data) {
		return nil, used, fmt.Errorf("tinker: custom loss returned %d gradients for %d datums", len(grad), len(data))
	}
	for i, g := range grad {
		if len(g) != data[i].LossFnInputs[TargetTokens].Len() {
			return nil, used, fmt.Errorf("tinker: custom loss returned %d gradients for the %d targets of datum %d",
				len(g), data[i].LossFnInputs[TargetTokens].Len(), i)
		}
		w := data[i].LossFnInputs[Weights].Float
		for j, v := range g {
			w[j] = -v
		}
	}
	back := ForwardRequest{SeqID: req.SeqID, Data: data, LossFn: CrossEntropy}
	if coef, ok := req.LossFnConfig[EntropyCoef]; ok {
		back.LossFnConfig = map[string]float64{EntropyCoef: coef}
		for i, d := range req.Data {
			if w, ok := d.LossFnInputs[EntropyWeights]; ok {
				data[i].LossFnInputs[EntropyWeights] = w
			}
		}
	}
	f, n, err := Submit(ctx, c, back, true)
	return f, used + n, err
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
