package engine

import (
	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/sampler"
)

// MemoryEstimate estimates the most memory that a model takes on this engine, in bytes.
type MemoryEstimate struct {
	Program int64 // without a model
	Weights int64 // packed
	// keys, values and states of delta rules, of the samples decoded together and of the last step's samples, at most
	// Options.CacheBytes
	Cache     int64
	Step      int64 // activations and logits of a sampling step
	Pages     int64 // keys and values of a micro-batch, as far as the cache has room besides the samples'
	Optimizer int64 // trained parameters, their packed form, gradient, a part of it, and two moments
	Tape      int64 // activations of a micro-batch
	Backward  int64 // their gradients, and logits
	CacheFull bool  // the samples decoded together need more than Cache: they take turns
}

// Sampling is the memory while sampling.
func (m MemoryEstimate) Sampling() int64 { return m.Program + m.Weights + m.Cache + m.Step }

// Training is the memory while training and sampling.
func (m MemoryEstimate) Training() int64 {
	return m.Sampling() + m.Pages + m.Optimizer + m.Tape + m.Backward
}

// The estimate's assumptions about an engine.
const (
	programBytes = 32 << 20
	stepLogits   = 64 << 20 // logits of a sampling step, at most
)

// Memory estimates the memory for samples sequences of length tokens each, prompt and answer together, and for
// training a LoRA of that rank, on trees of samples as large as they get; rank 0 trains all weights. The engine has the
// options that fit a machine with so much memory, see [Options.Fit].
func (d Description) Memory(machine int64, samples, length, rank int) MemoryEstimate {
	var o Options
	o.Fit(machine)
	o.defaults()
	c := d.config
	page := int64(4 * c.Pages().Floats())
	pages := int64(length+kernel.PageLen-1)/kernel.PageLen*page + c.MemoryBytes() // of one sequence
	trained, packed := c.AdapterParameters(rank), c.AdapterBytes(rank)
	if rank == 0 {
		trained, packed = c.Parameters(), 0
	}
	tapeBytes := int(o.TapeBytes)
	most := divisions()[Numerics].Tree // of the tokens that answers share with their prompt; a tree is one micro-batch
	rows := max(min(o.limits().Room(c, length), tapeBytes/c.TapeBytes(1, rank, true)), min(most, samples*length))
	m := MemoryEstimate{
		Program: programBytes,
		Weights: c.WeightBytes(),
		Cache:   max(pages, min(2*int64(samples)*pages, o.CacheBytes)),
		Step: int64(c.PassBytes(min(sampler.PrefillTokens+samples, samples*length), rank) +
			min(stepLogits, 4*samples*c.Vocab)),
		Optimizer: 20*trained + max(4*trained, 2*packed),
		Tape:      int64(c.TapeBytes(rows, rank, false)),
		Backward:  int64(c.BackwardBytes(rows, rank)),
	}
	m.CacheFull = int64(samples)*pages > m.Cache
	m.Pages = max(0, min(o.CacheBytes-m.Cache, int64(rows/kernel.PageLen)*page))
	if m.Tape > o.TapeBytes {
		// Long micro-batches recompute activations; short ones, at the end of a batch, keep theirs on a second tape.
		m.Tape = int64(c.TapeBytes(rows, rank, true)) + o.TapeBytes
	}
	return m
}
