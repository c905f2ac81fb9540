package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/engine/model"
)

// Memory is about the most that a model takes on the local engine, in bytes.
type Memory struct {
	Program   int64 // without a model
	Weights   int64 // packed
	Cache     int64 // keys and values of the samples decoded together and of those of the step before, or the most that is kept
	Step      int64 // activations and logits of a step of sampling
	Pages     int64 // keys and values of a micro-batch, if the cache has room for them beside the samples'
	Optimizer int64 // what is trained, its packed form, gradient and two moments
	Tape      int64 // activations of a micro-batch
	Backward  int64 // their gradients, and logits
	Kept      bool  // the samples decoded together would take more than is kept
}

// Sampling is the memory while sampling.
func (m Memory) Sampling() int64 { return m.Program + m.Weights + m.Cache + m.Step }

// Training is the memory while training and sampling.
func (m Memory) Training() int64 { return m.Sampling() + m.Pages + m.Optimizer + m.Tape + m.Backward }

// What the engine does if nobody tells it otherwise (engine.Options), and what it takes by itself.
const (
	pageTokens = 32      // of a page of the KV cache
	cacheLimit = 1 << 30 // of the pages that are kept
	promptRows = 1024    // of prompts in a step
	stepLogits = 64 << 20
	tapeRows   = 2048    // of a micro-batch, at most
	tapeLimit  = 1 << 30 // beyond that activations are recomputed
	program    = 32 << 20
)

// MemoryOf reckons with samples of length tokens, prompt and answer together, and a LoRA of rank; rank 0 trains all weights.
func MemoryOf(c model.Config, samples, length, rank int) Memory {
	page := int64(4 * c.Pages().Floats())
	pages := int64(length+pageTokens-1) / pageTokens * page // of a sample
	trained := c.AdapterParameters(rank)
	if rank == 0 {
		trained = c.Parameters()
	}
	rows := min(tapeRows, tapeLimit/c.TapeBytes(1, rank, true))
	m := Memory{
		Program:   program,
		Weights:   c.WeightBytes(),
		Cache:     max(pages, min(2*int64(samples)*pages, cacheLimit)),
		Step:      int64(c.PassBytes(min(promptRows+samples, samples*length), rank) + min(stepLogits, 4*samples*c.Vocab)),
		Optimizer: 20 * trained,
		Tape:      int64(c.TapeBytes(rows, rank, false)),
		Backward:  int64(c.BackwardBytes(rows, rank)),
	}
	m.Kept = int64(samples)*pages > m.Cache
	m.Pages = max(0, min(cacheLimit-m.Cache, int64(rows/pageTokens)*page))
	if m.Tape > tapeLimit { // long micro-batches recompute, and short ones, at the end of a batch, have a tape of their own that does not
		m.Tape = int64(c.TapeBytes(rows, rank, true)) + tapeLimit
	}
	return m
}

// FreeMemory is how many bytes a program can still have here, 0 where that is not known.
func FreeMemory() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Count writes a number of things, such as parameters or tokens, for people.
func Count(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f billion", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", float64(n)/1e6)
	}
	return fmt.Sprint(n)
}
