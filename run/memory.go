package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/model"
)

// Memory is what a model takes on the local engine, in bytes.
type Memory struct {
	Weights   int64 // packed
	Cache     int64 // keys and values of the samples decoded together
	Optimizer int64 // what is trained, its packed form, gradient and two moments
	Tape      int64 // activations of a micro-batch
}

// Sampling is the memory while sampling.
func (m Memory) Sampling() int64 { return m.Weights + m.Cache }

// Training is the memory while training and sampling.
func (m Memory) Training() int64 { return m.Sampling() + m.Optimizer + m.Tape }

const (
	pageTokens = 32   // of a page of the KV cache
	tapeRows   = 2048 // of a micro-batch
	tapeLimit  = 1 << 30
)

// MemoryOf reckons with samples of length tokens, prompt and answer together, and a LoRA of rank; rank 0 trains all weights.
func MemoryOf(c model.Config, samples, length, rank int) Memory {
	pages := int64(length+pageTokens-1) / pageTokens
	trained := c.AdapterParameters(rank)
	if rank == 0 {
		trained = c.Parameters()
	}
	m := Memory{
		Weights:   c.WeightBytes(),
		Cache:     int64(samples) * pages * int64(4*c.Pages().Floats()),
		Optimizer: 20 * trained,
		Tape:      int64(c.TapeBytes(tapeRows, rank, false)),
	}
	if m.Tape > tapeLimit {
		m.Tape = int64(c.TapeBytes(tapeRows, rank, true))
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
