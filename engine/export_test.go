package engine

// For tests in package engine_test, which may import packages above this one.

// SetPart sets the most tokens of a gradient's part.
func (e *Engine) SetPart(tokens int) { e.numerics.part = tokens }

var (
	WriteModel    = writeModel
	OpenEngine    = open
	TestContext   = testContext
	Create        = create
	Train         = train
	Sampler       = sampler
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

// Letters are token bytes for stop strings.
type Letters = letters

const BaseName = baseName

// Accumulators are a training run's gradient.
func Accumulators(c any) [][]float32 { return c.(*trainingRun).grads.Accumulators() }
