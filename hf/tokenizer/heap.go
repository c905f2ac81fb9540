package tokenizer

// candidate is a pair that may be merged: rule is its rank and result, left and
// right are the symbols' places.
type candidate struct {
	rule        uint64
	left, right int32
	pair        uint64 // the two symbols when it was found
}

func (c *candidate) before(d *candidate) bool {
	return c.rule < d.rule || c.rule == d.rule && c.left < d.left
}

// candidates is a heap, the best candidate at the root. It is container/heap
// for one type, which is three times as fast.
type candidates []candidate

func (h *candidates) push(c candidate) {
	*h = append(*h, c)
	all := *h
	at := len(all) - 1
	for at > 0 {
		up := (at - 1) / 2
		if !c.before(&all[up]) {
			break
		}
		all[at], at = all[up], up
	}
	all[at] = c
}

func (h *candidates) pop() candidate {
	all := *h
	top, last := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	at := 0
	for down := 1; down < len(all); down = 2*at + 1 {
		if down+1 < len(all) && all[down+1].before(&all[down]) {
			down++
		}
		if !all[down].before(&last) {
			break
		}
		all[at], at = all[down], down
	}
	if len(all) > 0 {
		all[at] = last
	}
	return top
}

// mergeHeap does what mergeScan does in n log n steps: symbols form a linked
// list, and a candidate whose symbols have changed since is passed over.
func (b *bpe) mergeHeap(s []int32) int {
	n := int32(len(s))
	next, prev := make([]int32, n), make([]int32, n)
	todo := make(candidates, 0, n)
	find := func(left, right int32) {
		if left < 0 || right >= n {
			return
		}
		p := pair(s[left], s[right])
		if rule := b.rules.get(p); rule != none {
			todo.push(candidate{rule, left, right, p})
		}
	}
	for i := range n {
		next[i], prev[i] = i+1, i-1
		find(i, i+1)
	}
	for len(todo) > 0 {
		c := todo.pop()
		if s[c.left] < 0 || next[c.left] != c.right || pair(s[c.left], s[c.right]) != c.pair {
			continue
		}
		s[c.left], s[c.right] = int32(uint32(c.rule)), -1
		next[c.left] = next[c.right]
		if next[c.left] < n {
			prev[next[c.left]] = c.left
		}
		find(prev[c.left], c.left)
		find(c.left, next[c.left])
	}
	length := 0
	for i := int32(0); i < n; i = next[i] {
		s[length] = s[i]
		length++
	}
	return length
}
