package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// score is the result of Score on a tape: the rows that have targets and, for each, the gradient of its
// log-probabilities.
type score struct {
	rows    []int     // [R] rows with a target, upward
	first   []int     // [R+1] row i's targets are targets[first[i]:first[i+1]]
	targets []int32   // [first[R]]
	g       []float32 // [first[R]] dLoss/dlogp
	lse     []float32 // [R] log-sum-exp of the row's logits
	h, e    []float32 // [R] entropy and dLoss/dentropy; empty unless requested
}

// headRows is the head's work on a few rows: their hidden states, the LoRA's mid and the logits, and the gradients of
// these.
type headRows struct {
	x, mid, logits nn.Rows // [M,D], [M,r], [M,V]
	dx, dmid       nn.Rows // [M,D], [M,r]
}

func (h *headRows) resize(c Config, M, rank int) {
	h.x.Resize(M, c.Dim)
	h.mid.Resize(M, rank)
	h.logits.Resize(M, c.Vocab)
	h.dx.Resize(M, c.Dim)
	h.dmid.Resize(M, rank)
}

func (h *headRows) slice(a, b int) headRows {
	return headRows{h.x.Slice(a, b), h.mid.Slice(a, b), h.logits.Slice(a, b), h.dx.Slice(a, b), h.dmid.Slice(a, b)}
}

// scoring is the head's part of a pass: logits, scores, and their gradients.
type scoring struct{ *pass }

// head computes h.logits for rows of the pass, whose hidden states it gathers.
func (p scoring) head(h headRows, rows []int, hidden nn.Rows, on nn.Products) {
	for i, t := range rows {
		copy(h.x.Row(i), hidden.Row(t))
	}
	p.scaleHead(h.x)
	p.gathered(on, p.w.head, h.logits, h.x, h.mid, rows, (*Adapter).onHead)
}

func (a *Adapter) onHead() *nn.LoRA { return a.head }

// headBackward computes h.dx from h.logits, which holds the gradients of the logits.
func (p scoring) headBackward(h headRows, rows []int, on nn.Products) {
	p.gatheredBackward(on, p.w.head, h.dx, h.logits, h.dmid, rows, (*Adapter).onHead)
	p.scaleHead(h.dx)
}

// scaleHead multiplies the head's inputs, or their gradients, by the family's factor.
func (p scoring) scaleHead(x nn.Rows) {
	if scale := p.w.Config.LogitScale; scale > 0 {
		p.K.Scale(x.Data, scale)
	}
}

// Logits computes the logits of chosen rows into out [len(rows),V]. hidden is what Forward returned for the same seqs.
func (r *Runner) Logits(w *Weights, seqs []Seq, hidden []float32, rows []int, out []float32) {
	p, err := r.newPass(w, seqs)
	if err != nil {
		return // Forward has reported it
	}
	c := w.Config
	all := nn.Rows{Data: out[:len(rows)*c.Vocab], Cols: c.Vocab}
	h := nn.Rows{Data: hidden, Cols: c.Dim}
	r.blocks(len(rows), c.Dim*c.Vocab, func(a, b int, on nn.Products) {
		ws := r.ws.Get()
		ws.Rows[0].Resize(b-a, c.Dim)
		ws.Rows[1].Resize(b-a, p.rank)
		scoring{p}.head(headRows{x: ws.Rows[0], mid: ws.Rows[1], logits: all.Slice(a, b)}, rows[a:b], h, on)
		r.ws.Put(ws)
	})
}

// Targets are the tokens whose log-probabilities a Score computes: those of row t are Tokens[First[t]:First[t+1]]. A
// negative token is none. A row that stands for several sequences has the targets of all.
type Targets struct {
	Tokens []int32
	First  []int // [T+1]
}

// Even returns targets of which every row has K.
func Even(tokens []int32, K int) Targets {
	t := Targets{Tokens: tokens, First: make([]int, len(tokens)/K+1)}
	for i := range t.First {
		t.First[i] = i * K
	}
	return t
}

// Score computes log-probabilities: logp[i] = logit - LogSumExp(logits) for target i, which are the bits that Logits
// and the kernel's LogSumExp give. The logp of no target is 0; rows without a target are not computed. The logits of
// all rows never exist at once.
//
// With dlogp, the gradient of the caller's loss is computed too: dlogp is called once for each row with a target, in
// order, to fill g with dLoss/dlogp of its targets. tape, which must be that of the Forward, stores it for Backward.
func (r *Runner) Score(w *Weights, seqs []Seq, hidden []float32, targets Targets, logp []float32,
	dlogp func(row int, logp, g []float32), tape *Tape) {
	r.ScoreEntropy(w, seqs, hidden, targets, logp, dlogp, tape, nil)
}

// ScoreEntropy is Score that also computes entropies and adds their gradient, unless entropies is nil.
func (r *Runner) ScoreEntropy(w *Weights, seqs []Seq, hidden []float32, targets Targets, logp []float32,
	dlogp func(row int, logp, g []float32), tape *Tape, entropies *Entropies) {
	clear(logp)
	p, err := r.newPass(w, seqs)
	if err != nil {
		return
	}
	s := &r.own.score
	if tape != nil {
		s = &tape.score
	}
	s.collect(targets)
	s.want(entropies)
	chunk := r.headChunk(w.Config)
	if tape == nil {
		chunk = min(chunk, r.P.N()*r.K.RowBlock()) // a block for each worker stays in its cache
	}
	for from := 0; from < len(s.rows); from += chunk {
		if !r.between() {
			return
		}
		all := nn.Rows{Data: hidden, Cols: w.Config.Dim}
		to := min(from+chunk, len(s.rows))
		if done := (scoring{p}).scoreRows(s, from, to, all, targets.of(logp), entropies); !done {
			return
		}
	}
	if tape != nil && len(s.rows) <= chunk {
		r.back.held = s
	}
	clear(s.g)
	if dlogp != nil {
		for i, t := range s.rows {
			dlogp(t, targets.of(logp)(t), s.g[s.first[i]:s.first[i+1]])
		}
	}
}

// scoreRows computes the logits of s.rows[from:to], in r.back.head, and the requested scores. It reports whether the
// call continues.
func (p scoring) scoreRows(s *score, from, to int, hidden nn.Rows, logp func(row int) []float32,
	entropies *Entropies) bool {
	c, head := p.w.Config, &p.back.head
	p.back.held = nil
	head.resize(c, to-from, p.rank)
	return p.headParts(to-from, func(a, b int, on nn.Products) {
		p.head(head.slice(a, b), s.rows[from+a:from+b], hidden, on)
		on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
			for i := a; i < b; i++ {
				logits := head.logits.Row(i)
				s.score(p.K, from+i, logits, logp(s.rows[from+i]))
				if entropies != nil {
					s.entropy(p.K, from+i, logits, entropies)
				}
			}
		})
	})
}

// headParts runs f over n rows as blocks does, and yields between parts of them. It reports whether the call continues.
func (p scoring) headParts(n int, f func(a, b int, on nn.Products)) bool {
	weights := p.w.Config.Dim * p.w.Config.Vocab
	for at := 0; at < n; {
		if at > 0 && !p.between() {
			return false
		}
		part := min(p.headPart(), n-at)
		p.blocks(part, weights, func(a, b int, on nn.Products) { f(at+a, at+b, on) })
		at += part
	}
	return true
}

// headPart is the number of rows between two calls of Between: many, since each part reads the head's weights once, or
// those that take no longer than a layer while another runner waits.
func (p scoring) headPart() int {
	if p.Waits != nil && p.Waits() {
		return layerRows(p.w.Config, p.rows())
	}
	return headRowsAlone(p.w.Config, p.rows())
}

// headRowsAlone is the most rows of a part of the head.
func headRowsAlone(c Config, rows int) int {
	const many = 256
	return max(many, layerRows(c, rows))
}

// layerRows is the number of rows whose logits take about as long as rows rows take in a layer, at least one block.
func layerRows(c Config, rows int) int {
	layer := c.Dim*(c.QDim()+2*c.KVDim()) + c.QDim()*c.Dim + 3*c.Dim*c.FF
	const block = 64
	return max(block, rows*layer/(c.Dim*c.Vocab)/block*block)
}

// of returns the part of v, one number per target, of a row.
func (t Targets) of(v []float32) func(row int) []float32 {
	return func(row int) []float32 { return v[t.First[row]:t.First[row+1]] }
}

// collect finds the rows that have targets.
func (s *score) collect(t Targets) {
	s.rows, s.first, s.targets = s.rows[:0], append(s.first[:0], 0), s.targets[:0]
	for row := range len(t.First) - 1 {
		some := t.Tokens[t.First[row]:t.First[row+1]]
		if slices.ContainsFunc(some, func(id int32) bool { return id >= 0 }) {
			s.rows, s.targets = append(s.rows, row), append(s.targets, some...)
			s.first = append(s.first, len(s.targets))
		}
	}
	s.g = floats(s.g, len(s.targets))
	s.lse = floats(s.lse, len(s.rows))
}

// score fills the log-probabilities of one row's targets.
func (s *score) score(k *kernel.Set, i int, logits, logp []float32) {
	s.lse[i] = k.LogSumExp(logits)
	for j, target := range s.targets[s.first[i]:s.first[i+1]] {
		if target >= 0 {
			logp[j] = logits[target] - s.lse[i]
		}
	}
}

// gradient replaces row i's logits by their gradient: sum over targets of g*(onehot - softmax), and the entropy's.
func (s *score) gradient(k *kernel.Set, i int, logits []float32) {
	g, targets := s.g[s.first[i]:s.first[i+1]], s.targets[s.first[i]:s.first[i+1]]
	sum := float32(0)
	for j, target := range targets {
		if target >= 0 {
			sum += g[j]
		}
	}
	if len(s.e) > 0 && s.e[i] != 0 {
		entropyGradient(k, logits, sum, s.lse[i], s.h[i], s.e[i])
	} else {
		k.SoftmaxGrad(logits, logits, -sum, s.lse[i])
	}
	for j, target := range targets {
		if target >= 0 {
			logits[target] += g[j]
		}
	}
}
