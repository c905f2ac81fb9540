package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// score is the result of Score on a tape: the rows that have targets and, for each, the gradient of its
// log-probabilities.
type score struct {
	K       int
	rows    []int     // [R] rows with a target, upward
	targets []int32   // [R*K]
	g       []float32 // [R*K] dLoss/dlogp
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

// head computes h.logits for rows of the pass, whose hidden states it gathers.
func (p *pass) head(h headRows, rows []int, hidden nn.Rows, on nn.Products) {
	for i, t := range rows {
		copy(h.x.Row(i), hidden.Row(t))
	}
	in := on.Pack(0, h.x, h.x.Cols, p.w.head.W.BF16)
	var more []kernel.Addition
	p.eachHeadRun(rows, func(lora *nn.LoRA, a, b int) { more = lora.Down(on, more, h.mid, in, a, b) })
	p.w.head.Forward(on, h.logits, in, more)
}

// headBackward computes h.dx from h.logits, which holds the gradients of the logits.
func (p *pass) headBackward(h headRows, rows []int, on nn.Products) {
	in := on.Pack(0, h.logits, h.logits.Cols, p.w.head.W.BF16)
	var more []kernel.Addition
	p.eachHeadRun(rows, func(lora *nn.LoRA, a, b int) { more = lora.Up(on, more, h.dmid, h.logits, in, a, b) })
	p.w.head.Backward(on, h.dx, in, more)
}

// eachHeadRun calls f for stretches a to b-1 of rows whose adapter reaches the head. rows need not be sorted.
func (p *pass) eachHeadRun(rows []int, f func(l *nn.LoRA, a, b int)) {
	for a := 0; a < len(rows); {
		u, b := p.segmentOf(rows[a]), a+1
		for b < len(rows) && rows[b] >= u.a && rows[b] < u.b {
			b++
		}
		if u.adapter != nil && u.adapter.head != nil {
			f(u.adapter.head, a, b)
		}
		a = b
	}
}

func (p *pass) segmentOf(row int) segment {
	lo, hi := 0, len(p.segments)-1
	for lo < hi {
		if mid := (lo + hi) / 2; p.segments[mid].b > row {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return p.segments[lo]
}

// headEnd returns the end of a chunk of the head's gradients that begins at from and has at most n rows, 64 or more.
// It ends at a block of its sequence's gradients, so that other sequences do not change the bits.
func (p *pass) headEnd(rows []int, from, n int) int {
	const block = 32
	end := from + n
	if end >= len(rows) {
		return len(rows)
	}
	i, _ := slices.BinarySearch(p.start, rows[end]+1) // sequence i-1 has the row
	first, _ := slices.BinarySearch(rows, p.start[i-1])
	return end - (end-first)%block
}

// headStretches returns the boundaries between sequences in rows, which are ascending, and the end.
func (p *pass) headStretches(rows []int) kernel.Stretches {
	var starts kernel.Stretches
	for i := range p.seqs {
		at, _ := slices.BinarySearch(rows, p.start[i])
		starts = append(starts, at)
	}
	return append(starts, len(rows))
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
		p.head(headRows{x: ws.Rows[0], mid: ws.Rows[1], logits: all.Slice(a, b)}, rows[a:b], h, on)
		r.ws.Put(ws)
	})
}

// Score computes log-probabilities: row t has K targets targets[t*K:], and logp[t*K+k] = logit - LogSumExp(logits),
// which are the bits that Logits and the kernel's LogSumExp give. A negative target is none, and its logp is 0; rows
// without a target are not computed. The logits of all rows never exist at once.
//
// With dlogp, the gradient of the caller's loss is computed too: dlogp is called once for each row with a target, in
// order, to fill g [K] with dLoss/dlogp. tape, which must be that of the Forward, stores it for Backward.
func (r *Runner) Score(w *Weights, seqs []Seq, hidden []float32, targets []int32, K int, logp []float32,
	dlogp func(row int, logp, g []float32), tape *Tape) {
	r.ScoreEntropy(w, seqs, hidden, targets, K, logp, dlogp, tape, nil)
}

// ScoreEntropy is Score that also computes entropies and adds their gradient, unless entropies is nil.
func (r *Runner) ScoreEntropy(w *Weights, seqs []Seq, hidden []float32, targets []int32, K int, logp []float32,
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
	s.collect(targets, K)
	s.want(entropies)
	chunk := r.headChunk(w.Config)
	if tape == nil {
		chunk = min(chunk, r.P.N()*r.K.RowBlock()) // a block for each worker stays in its cache
	}
	for from := 0; from < len(s.rows); from += chunk {
		if !r.between() {
			return
		}
		if !p.scoreRows(s, from, min(from+chunk, len(s.rows)), nn.Rows{Data: hidden, Cols: w.Config.Dim}, logp,
			entropies) {
			return
		}
	}
	if tape != nil && len(s.rows) <= chunk {
		r.back.held = s
	}
	clear(s.g)
	if dlogp != nil {
		for i, t := range s.rows {
			dlogp(t, logp[t*K:][:K], s.g[i*K:][:K])
		}
	}
}

// scoreRows computes the logits of s.rows[from:to], in r.back.head, and the requested scores. It reports whether the
// call continues.
func (p *pass) scoreRows(s *score, from, to int, hidden nn.Rows, logp []float32, entropies *Entropies) bool {
	c, head := p.w.Config, &p.back.head
	p.back.held = nil
	head.resize(c, to-from, p.rank)
	return p.headParts(to-from, func(a, b int, on nn.Products) {
		p.head(head.slice(a, b), s.rows[from+a:from+b], hidden, on)
		on.Rows(a, b, func(a, b int, _ *kernel.Scratch) {
			for i := a; i < b; i++ {
				logits := head.logits.Row(i)
				s.score(p.K, from+i, logits, logp[s.rows[from+i]*s.K:][:s.K])
				if entropies != nil {
					s.entropy(p.K, from+i, logits, entropies)
				}
			}
		})
	})
}

// headParts runs f over n rows as blocks does, and yields between parts of them. It reports whether the call continues.
func (p *pass) headParts(n int, f func(a, b int, on nn.Products)) bool {
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
func (p *pass) headPart() int {
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

// collect finds the rows that have targets.
func (s *score) collect(targets []int32, K int) {
	s.K, s.rows, s.targets = K, s.rows[:0], s.targets[:0]
	for t := range len(targets) / K {
		row := targets[t*K:][:K]
		for _, v := range row {
			if v >= 0 {
				s.rows = append(s.rows, t)
				s.targets = append(s.targets, row...)
				break
			}
		}
	}
	s.g = floats(s.g, len(s.targets))
	s.lse = floats(s.lse, len(s.rows))
}

// score fills the log-probabilities of one row's targets.
func (s *score) score(k *kernel.Set, i int, logits, logp []float32) {
	s.lse[i] = k.LogSumExp(logits)
	for j, target := range s.targets[i*s.K:][:s.K] {
		if target >= 0 {
			logp[j] = logits[target] - s.lse[i]
		}
	}
}

// gradient replaces row i's logits by their gradient: sum over targets of g*(onehot - softmax), and the entropy's.
func (s *score) gradient(k *kernel.Set, i int, logits []float32) {
	g, targets := s.g[i*s.K:][:s.K], s.targets[i*s.K:][:s.K]
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
