// Package executor is the seam below the engine's state machine: the pure functions that everything expensive consists
// of. The result has the same bits on every machine. So the state machine, the optimizer, the
// versions of the weights and the journal stay in one process, and other machines may compute the rest, twice if need
// be.
//
// A call names its weights by a Version, which consists of hashes. The bytes behind the hashes are blobs: the owner of
// a version offers them, and an executor gets those that it lacks (see Blobs).
//
// The codec (task.go, result.go) turns calls and results into bytes: equal calls into equal bytes.
package executor

import (
	"context"
	"io"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Version names one immutable set of weights and the arithmetic to compute with them. Equal versions give equal bits.
type Version struct {
	// Numerics names the arithmetic and the order in which products add, such as trinity-5-blocked. An executor whose
	// units round in another way, a GPU's matrix units for instance, has a name of its own; the sampler and the trainer
	// of a job use one name.
	Numerics string
	BF16     bool // weights and KV pages are bf16, otherwise f32
	// Base is the fingerprint of the base model's files: config.json and the weights, or config.json alone if the
	// version has full parameters of its own.
	Base string
	// Manifest is the hash of the list of those files, see Manifest.
	Manifest string
	// LoRA is the adapter's shape; its Seed is nil and its rank 0 if there is no adapter.
	LoRA tinker.LoRA
	// Params is the hash of the adapter or, with rank 0, of the full parameters: a safetensors file. "" is the base
	// model's own weights.
	Params string
}

// Full reports whether all weights are the version's own.
func (v Version) Full() bool { return v.LoRA.Rank == 0 && v.Params != "" }

// Sample asks for samples First to First+N-1 of a request. Sample k draws from the stream
// rng.New(Seed).Stream("sample", k), so a request may be cut into ranges.
type Sample struct {
	Prompt    []int32 // at least one token
	First, N  int
	Seed      uint64
	MaxTokens int // of a sample; at least 1

	Temperature, TopP, MinP float64 // as of tinker.SamplingParams
	TopK                    int     // 0 is off

	StopTokens  []int32 // all of them: those that the model has itself are included
	StopStrings []string
	Tokens      string // hash of the bytes of all tokens, see TokenTable; "" without StopStrings
}

// Batch is consecutive datums of a request with their loss.
type Batch struct {
	Loss   string // tinker.CrossEntropy and so on
	Config map[string]float64
	Data   []tinker.Datum // text only; with exactly the inputs that the loss reads
}

// Output is the result of a datum. Slices have the bits that the engine computes.
type Output struct {
	Logprobs        []float32 // [N,K] nats, temperature 1
	Entropy, Centre []float32 // [N]; nil unless Config has tinker.EntropyCoef
	Loss            float64
}

// Gradient is the gradient of a Batch, begun at zero: one slice for each trainable tensor in order of their names. A
// tied embedding, which is used at both ends of the model, has two at the end instead: one of the embedding and one
// of the head.
type Gradient [][]float32

// Executor computes. Every method is a pure function of its arguments except ctx: the same bits alone or beside other
// calls, on any machine, in any order, with any number of threads.
//
// The methods are safe for concurrent use and do not keep or change their arguments. They block until the result is
// there; several calls at once use a machine better than one after another, since samples of different calls share
// passes. A call ends soon after its ctx, with ctx's cause.
//
// An error means that there is no result, and nothing else: the caller may ask another executor. It says nothing about
// the request, since a machine can fail at what another one can do; the caller computes it itself
// to find out.
type Executor interface {
	// Sample returns N samples, in order.
	Sample(ctx context.Context, v Version, s Sample) ([]tinker.SampledSequence, error)
	// Forward returns one output for each datum.
	Forward(ctx context.Context, v Version, b Batch) ([]Output, error)
	// Gradient returns Forward's outputs with the gradient of the batch's loss by what v trains: the adapter, or the
	// full parameters if v has none.
	Gradient(ctx context.Context, v Version, b Batch) ([]Output, Gradient, error)
}

// Blobs gives the content behind the hashes of a version.
type Blobs interface {
	// Path returns a file with the content of that SHA-256 in hexadecimal. It stays as it is at least until the call of
	// the executor that asked for it returns.
	Path(ctx context.Context, hash string) (string, error)
}

// Blob is content that may be asked for by its hash.
type Blob struct {
	Hash string // SHA-256 in hexadecimal
	Size int64
	// Open reads it from the beginning; safe for concurrent use. It fails when the content is gone, for instance
	// because nobody uses the weights any more.
	Open func() (io.ReadCloser, error)
}

// Pool is executors on other machines, as the engine uses them beside its own threads.
type Pool interface {
	Executor
	// Offer makes a blob available to the executors until withdraw is called. The same content may be offered several
	// times: it is available as long as one of the offers lasts.
	Offer(Blob) (withdraw func())
	// Room is how many calls the executors would begin at once now, beyond those in progress.
	Room() int
	// Executors is the number of executors, 0 if there are none now, and Speed their speed together, in an arbitrary
	// unit of OwnSpeed, the speed of this process.
	Executors() int
	Speed() float64
	OwnSpeed() float64
	// Changed returns a channel that is closed when one of these numbers may have grown.
	Changed() <-chan struct{}
}
