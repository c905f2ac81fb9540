package model

import (
	"sync/atomic"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Seq is a stretch of one sequence in a call: new tokens at positions Pos, Pos+1, …
type Seq struct {
	Tokens []int32
	Pos    int
	// Pages cover positions 0 to Pos+len(Tokens)-1. The caller allocates and zeroes them; those before Pos are filled.
	// Forward writes the new tokens' keys and values. No page that a Seq of the call writes is in another of its Seqs,
	// but for those in Next.
	Pages []*nn.Page
	// Next are the later Seqs of the call that continue this one, by index: their Pos is where this one ends. They have
	// its full pages and a page of their own for the positions after these, which Forward fills from this Seq's rows.
	// A tree of Seqs stands for sequences with common beginnings, whose rows are computed once, forward and backward.
	Next []int
	// Memory is what the sequence keeps beside its pages, in models that have some; Forward continues it. Without one,
	// a sequence begins at position 0 or continues another Seq.
	Memory *nn.Memory
	// Adapter is the LoRA to add, nil for the base model. Neighbouring sequences with the same adapter share matrix
	// products.
	Adapter *Adapter
}

// Runner computes forward and backward passes. It owns their memory, which grows with the rows of a call and is
// reused, so it runs one call at a time. Several runners may share a pool only if its regions may wait for each other.
type Runner struct {
	nn.Compute
	// Between, if set, is called between the layers of Forward and Backward and between the parts of Score. The runner
	// does not compute then, so another runner may. It changes no bit. An error ends the call, and Err returns it.
	Between func() error
	// Waits, if set, reports whether another runner waits for Between, or soon will. Else calls of Between may be
	// further apart. It changes no bit.
	Waits func() bool

	ws   nn.Workspaces
	sc   *kernel.Scratch // the caller's own
	own  Tape            // the memory of calls without a tape
	back backBuffers     // the memory of Backward
	work expertWork      // the memory of experts
	most int             // rows of logits at once, if not headChunk
	bad  []atomic.Int32  // by sequence: lowest place that was not finite, plus 1: a layer, or Layers for the final norm
	err  error           // of the whole call
}

// NewRunner returns a runner on c, whose pool the caller closes.
func NewRunner(c nn.Compute) *Runner {
	return &Runner{Compute: c, sc: kernel.NewScratch(), own: Tape{keep: keepNothing}}
}

// Err returns the error of the last Forward or of a later call: a token outside the vocabulary, too few pages, an
// error of Between, or values that are not finite (with the first layer that had them).
func (r *Runner) Err() error {
	if r.err != nil {
		return r.err
	}
	first := 0
	for i := range r.bad {
		if at := int(r.bad[i].Load()); at != 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return notFinite(first)
}

// SeqErr is Err for sequence i alone. The rows of a failed sequence have no meaning; those of the others are not
// affected.
func (r *Runner) SeqErr(i int) error {
	if r.err != nil {
		return r.err
	}
	return notFinite(int(r.bad[i].Load()))
}

// between yields, and reports whether the call continues.
func (r *Runner) between() bool {
	if r.err == nil && r.Between != nil {
		r.err = r.Between()
	}
	return r.err == nil
}

// blocks runs f over all n rows, which are multiplied with matrices of about that many weights, and passes f the
// Products to use. It runs blocks [a,b) of rows in parallel or, if reading the weights takes long compared with the
// arithmetic, large blocks one after another whose products the workers share.
func (r *Runner) blocks(n, weights int, f func(a, b int, on nn.Products)) {
	N := r.P.N()
	switch {
	case n == 0:
	case N > 1 && (weights >= manyWeights && (r.K.PacksInput() || n <= fewRows*N) || r.few(n, weights)):
		parts := (n + sharedRows - 1) / sharedRows
		for i := range parts {
			f(cut(i, parts, n), cut(i+1, parts, n), nn.Products{K: r.K, SC: r.sc, P: r.P})
		}
	default:
		most := r.K.RowBlock()
		parts := (n + most - 1) / most
		parts = min(n, (parts+N-1)/N*N)
		r.P.Run(parts, func(i int, sc *kernel.Scratch) {
			f(cut(i, parts, n), cut(i+1, parts, n), nn.Products{K: r.K, SC: sc})
		})
	}
}

// few reports whether so few rows are multiplied that reading the weights takes much longer than the arithmetic, and
// than waking the workers that share it.
func (r *Runner) few(n, weights int) bool { return n <= sharedFew*r.P.N() && weights >= someWeights }

const (
	// sharedFew is the number of rows per worker up to which workers share the products with someWeights and more.
	sharedFew, someWeights = 8, 1 << 19
	// manyWeights do not fit in a core's caches, so that every walk over them reads memory.
	manyWeights = 1 << 20
	// With at most fewRows per worker, reading the weights takes longer than the arithmetic. If rows are packed once
	// for all workers, they share products of any number of rows: weights are transposed once for sharedRows.
	fewRows = 128
	// sharedRows is the number of rows computed at once when the workers share each product.
	sharedRows = 512
)

// cut returns the first row of part i of n rows: with many rows, a multiple of a tile's height.
func cut(i, parts, n int) int {
	const tile = 32
	at := i * n / parts
	if i < parts && n/parts >= 2*tile {
		at -= at % tile
	}
	return at
}

// Forward runs all layers over the new tokens of seqs, sequence after sequence, and returns the hidden rows after the
// final norm [T,D]. They are valid until the next call, with a tape until the tape's next use. A tape stores what
// Backward needs and changes no bit. Err reports an error of the call.
func (r *Runner) Forward(w *Weights, seqs []Seq, tape *Tape) []float32 {
	r.bad, r.back.held = make([]atomic.Int32, len(seqs)), nil
	p, err := r.newPass(w, seqs)
	if r.err = err; err != nil {
		rows := 0
		for _, s := range seqs {
			rows += len(s.Tokens)
		}
		return make([]float32, rows*w.Config.Dim)
	}
	if tape == nil {
		tape = &r.own
	}
	tape.reset(p)
	p.forward()
	return p.hidden.Data
}

// forward runs the layers. One barrier per layer is enough: only attention needs other rows, the keys and values of
// earlier ones.
func (p *pass) forward() {
	p.layer(func(a, b int, on nn.Products) {
		p.embed(a, b)
		p.project(0, a, b, on)
	})
	for l := range p.layers {
		if !p.between() {
			return
		}
		recurrent{p}.recur(l)
		p.block(l, func(a, b int, on nn.Products) {
			if l+1 < len(p.layers) {
				p.project(l+1, a, b, on)
				return
			}
			if !nn.RMSNorm(p.K, p.hidden.Slice(a, b), p.last.Slice(a, b), p.w.norm, p.w.Config.Eps, p.invF[a:b]) {
				p.mark(len(p.layers), p.invF, a, b)
			}
		})
	}
}

// block computes layer l from attention on, and then calls next for blocks of rows.
func (p *pass) block(l int, next func(a, b int, on nn.Products)) {
	if !p.w.Config.sparse(l) {
		p.layer(func(a, b int, on nn.Products) {
			p.attend(l, a, b, on)
			p.mlp(l, a, b, on)
			next(a, b, on)
		})
		return
	}
	p.layer(func(a, b int, on nn.Products) {
		p.attend(l, a, b, on)
		mixture{p}.route(l, a, b, on)
	})
	mixture{p}.experts(l)
	p.layer(next)
}

// layer runs f over all rows, in blocks that suit the matrices of a layer.
func (p *pass) layer(f func(a, b int, on nn.Products)) {
	c := p.w.Config
	p.blocks(p.rows(), c.Dim*c.FF, f)
}

// embed writes the embeddings of rows a to b-1 into the first layer's input.
func (p *pass) embed(a, b int) {
	scale := p.w.Config.embedScale(p.K)
	p.eachSeq(a, b, func(_ int, s Seq, a, b int) {
		for t := a; t < b; t++ {
			row := p.layers[0].x.Row(t)
			if p.w.embed.Row(row, s.Tokens[t-a]); scale != 1 {
				p.K.Scale(row, scale)
			}
		}
	})
}
