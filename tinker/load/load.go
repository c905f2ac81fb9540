// Package load puts a Tinker service under load, checks every answer and measures: round trips of single training
// requests, many training runs at once, many samples at once, and a burst of requests that are all outstanding
// together.
//
// It uses only the interfaces of package tinker, so it can load an engine in this process, a server through
// tinker/client, or the hosted service. If the service promises exact logprobs, answers to equal requests must be
// equal to the last bit. Otherwise they must be well formed and finite, and training losses must fall.
package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Load is a service under load.
type Load struct {
	svc   tinker.Service
	base  string
	exact bool
}

// New prepares a service. base is the model to load it with; "" is the service's first one.
func New(ctx context.Context, svc tinker.Service, base string) (*Load, error) {
	caps, err := svc.Capabilities(ctx)
	if err != nil {
		return nil, err
	}
	if base == "" {
		if len(caps.Models) == 0 {
			return nil, fmt.Errorf("load: the service has no base model")
		}
		base = caps.Models[0].Name
	}
	return &Load{svc: svc, base: base, exact: caps.ExactLogprobs}, nil
}

// Base is the base model under load.
func (l *Load) Base() string { return l.base }

// rank is the adapters' LoRA rank.
const rank = 8

// run starts a training run whose first weights are always the same.
func (l *Load) run(ctx context.Context) (tinker.TrainingClient, error) {
	seed := int64(7)
	return l.svc.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: l.base,
		LoRA: tinker.LoRA{Rank: rank, Seed: &seed, TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
}

// datum is a sequence of n tokens, the same for the same kind. Its tokens are in every vocabulary.
func datum(n, kind int) tinker.Datum {
	tokens, weights := make([]int32, n+1), make([]float32, n)
	for i := range tokens {
		tokens[i] = int32(32 + (i*7+kind*13)%64)
	}
	for i := range weights {
		weights[i] = 1
	}
	return tinker.Datum{ModelInput: tinker.Text(tokens[:n]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(tokens[1:]), tinker.Weights: tinker.Floats(weights)}}
}

func batch(seq int64, n, kind int) tinker.ForwardRequest {
	return tinker.ForwardRequest{SeqID: seq, LossFn: tinker.CrossEntropy, Data: []tinker.Datum{datum(n, kind)}}
}

// check refuses a result that does not fit a datum of n tokens.
func check(o tinker.ForwardOutput, n int) error {
	if len(o.LossFnOutputs) != 1 || len(o.LossFnOutputs[0][tinker.Logprobs].Float) != n {
		return fmt.Errorf("load: a result has %d outputs; one datum of %d tokens was sent", len(o.LossFnOutputs), n)
	}
	for i, lp := range o.LossFnOutputs[0][tinker.Logprobs].Float {
		if !(lp <= 0) || math.IsInf(float64(lp), 0) {
			return fmt.Errorf("load: logprob %d of a result is %v", i, lp)
		}
	}
	return nil
}

// Times are measured durations, shortest first.
type Times []time.Duration

// Add inserts one duration.
func (t *Times) Add(d time.Duration) {
	at, _ := slices.BinarySearch(*t, d)
	*t = slices.Insert(*t, at, d)
}

// At is the quantile p (0 to 1) of the durations.
func (t Times) At(p float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(p*float64(len(t))))]
}
