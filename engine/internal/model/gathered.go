package model

import (
	"slices"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// This file is products of some rows of a pass, which the head and the experts gather.

// gathered computes y from x by l and the additions that pick selects. rows are those of the pass that x has.
func (p *pass) gathered(on nn.Products, l *nn.Linear, y, x, mid nn.Rows, rows []int, pick func(*Adapter) *nn.LoRA) {
	in := p.packed(on, l, x)
	l.Forward(on, y, x, in, p.additions(on, in, mid, rows, pick))
}

// additions computes mid, and returns what continues the product of the rows that in holds packed.
func (p *pass) additions(on nn.Products, in *kernel.Input, mid nn.Rows, rows []int,
	pick func(*Adapter) *nn.LoRA) (more []kernel.Addition) {
	p.eachRun(rows, pick, func(lora *nn.LoRA, a, b int) { more = lora.Down(on, more, mid, in, a, b) })
	return more
}

// gatheredBackward computes dx from dy, and dmid.
func (p *pass) gatheredBackward(on nn.Products, l *nn.Linear, dx, dy, dmid nn.Rows, rows []int,
	pick func(*Adapter) *nn.LoRA) {
	in := p.packed(on, l, dy)
	var more []kernel.Addition
	p.eachRun(rows, pick, func(lora *nn.LoRA, a, b int) { more = lora.Up(on, more, dmid, dy, in, a, b) })
	l.Backward(on, dx, dy, in, more)
}

// eachRun calls f for stretches a to b-1 of rows whose adapter has the addition pick names. rows need not be sorted.
func (p *pass) eachRun(rows []int, pick func(*Adapter) *nn.LoRA, f func(l *nn.LoRA, a, b int)) {
	for a := 0; a < len(rows); {
		u, b := p.segmentOf(rows[a]), a+1
		for b < len(rows) && rows[b] >= u.a && rows[b] < u.b {
			b++
		}
		if u.adapter != nil {
			if l := pick(u.adapter); l != nil {
				f(l, a, b)
			}
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

// chunkEnd returns the end of a chunk of the head's or an expert's rows that begins at from and has at most n rows, 64
// or more. It ends at a block of its sequence's gradients, so that other sequences do not change the bits.
func (p *pass) chunkEnd(rows []int, from, n int) int {
	const block = 32
	end := from + n
	if end >= len(rows) {
		return len(rows)
	}
	i, _ := slices.BinarySearch(p.start, rows[end]+1) // sequence i-1 has the row
	first, _ := slices.BinarySearch(rows, p.start[i-1])
	return end - (end-first)%block
}

// stretchesOf returns the boundaries between sequences in rows, which are ascending, and the end.
func (p *pass) stretchesOf(rows []int) kernel.Stretches {
	var starts kernel.Stretches
	for i := range p.seqs {
		at, _ := slices.BinarySearch(rows, p.start[i])
		starts = append(starts, at)
	}
	return append(starts, len(rows))
}
