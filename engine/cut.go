package engine

import (
	"github.com/seed-d9ad8ee0/trinity/engine/internal/cache"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
)

// enoughRows is the number of rows from which on products of a pass are about as fast as with many.
const enoughRows = 256

// room is the number of tokens of the pass that a job begins.
func (t *computeLoop) room(j *job) int {
	if !j.backward() {
		return t.e.opts.MicroBatch
	}
	return t.e.opts.room(j.r.base.config, j.tokens)
}

// room is the number of tokens of a pass with a backward that begins with so many. One whose activations all fit is
// preferred unless it is short: a pass that recomputes them takes up to half as long again.
func (o *Options) room(c model.Config, first int) int {
	if kept := int(o.TapeBytes / tapeBytes(c, false)); kept >= max(enoughRows, first) {
		return min(o.MicroBatch, kept)
	}
	return min(o.MicroBatch, int(o.TapeBytes/tapeBytes(c, true)))
}

// tapeBytes estimates the bytes that the backward of one token needs.
func tapeBytes(c model.Config, recompute bool) int64 {
	layer := 6*c.Dim + 3*c.Heads*c.HeadDim + 4*c.KVHeads*c.HeadDim + 4*c.FF
	if recompute {
		return int64(4 * (c.Layers*c.Dim + layer))
	}
	return int64(4 * c.Layers * layer)
}

func pagesFor(tokens int) int { return (tokens + cache.PageLen - 1) / cache.PageLen }
