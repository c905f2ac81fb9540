package compute

import "github.com/seed-d9ad8ee0/trinity/engine/internal/model"

// Limits bound a pass.
type Limits struct {
	TapeBytes  int64 // activations kept for a backward; beyond that they are recomputed
	MicroBatch int   // tokens
}

// enoughRows is the number of rows from which on products of a pass are about as fast as with many.
const enoughRows = 256

// roomFor is the number of tokens of the pass that a job begins.
func (l Limits) roomFor(j *job) int {
	if !j.backward() {
		return l.MicroBatch
	}
	return l.Room(j.version.Base.Config, j.tokens)
}

// Room is the number of tokens of a pass with a backward that begins with so many. One whose activations all fit is
// preferred unless it is short: a pass that recomputes them takes up to half as long again.
func (l Limits) Room(c model.Config, first int) int {
	if kept := int(l.TapeBytes / tapeBytes(c, false)); kept >= max(enoughRows, first) {
		return min(l.MicroBatch, kept)
	}
	return min(l.MicroBatch, int(l.TapeBytes/tapeBytes(c, true)))
}

// TapeBytes estimates the bytes that the backward of one token needs.
func tapeBytes(c model.Config, recompute bool) int64 {
	layer := 6*c.Dim + 3*c.Heads*c.HeadDim + 4*c.KVHeads*c.HeadDim + 4*c.FF
	if recompute {
		return int64(4 * (c.Layers*c.Dim + layer))
	}
	return int64(4 * c.Layers * layer)
}
