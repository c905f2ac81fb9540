package engine

import (
	"context"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/training"
)

// For tests in package engine_test, which may import packages above this one.

// SetPart sets the most tokens of a gradient's part.
func (e *Engine) SetPart(tokens int) { e.loop.Division.Part = tokens }

var (
	WriteModel    = writeModel
	OpenEngine    = open
	Create        = create
	Train         = train
	Sampler       = samplerOf
	Draw          = draw
	SampleRequest = sampleRequest
	Logprobs      = logprobs
	Batch         = batch
	Adam          = adam
	LoRAOf        = lora
	Tokens        = tokens
	Datum         = datum
	SameBits      = sameBits
)

// LongContext is long enough for slow kernels on a busy machine.
func LongContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Letters are token bytes for stop strings.
type Letters = letters

const BaseName = baseName

// Accumulators are a training run's gradient.
func Accumulators(c any) [][]float32 { return c.(*training.Run).Grads.Accumulators() }
