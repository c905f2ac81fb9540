package nn

import "github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"

// RowHeads calls f for heads from to to-1 of rows a to b-1, in parts if there is a pool: by heads, and also by rows if
// there are too few heads to balance the workers.
func (c Products) RowHeads(a, b, heads int, f func(a, b, from, to int, sc *kernel.Scratch)) {
	if c.P == nil {
		f(a, b, 0, heads, c.SC)
		return
	}
	n := b - a
	most := 8 * c.P.N()
	rows, cols := min(n, max(1, most/heads)), min(heads, most)
	c.P.Run(rows*cols, func(i int, sc *kernel.Scratch) {
		r, h := i/cols, i%cols
		f(a+r*n/rows, a+(r+1)*n/rows, h*heads/cols, (h+1)*heads/cols, sc)
	})
}
