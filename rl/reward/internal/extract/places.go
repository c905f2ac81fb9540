package extract

import "sort"

// places is an ascending list of places in a text. It remembers where it was asked last, since most questions come in
// order.
type places struct {
	all  []int32
	last int
}

func (p *places) add(i int) { p.all = append(p.all, int32(i)) }

// index is the number of places before from.
func (p *places) index(from int) int {
	for k := p.last; k <= min(p.last+2, len(p.all)); k++ {
		if (k == 0 || int(p.all[k-1]) < from) && (k == len(p.all) || int(p.all[k]) >= from) {
			p.last = k
			return k
		}
	}
	p.last = sort.Search(len(p.all), func(k int) bool { return int(p.all[k]) >= from })
	return p.last
}

// next is the first place at from or later, -1 if there is none.
func (p *places) next(from int) int {
	if k := p.index(from); k < len(p.all) {
		return int(p.all[k])
	}
	return -1
}

// between are the places in [from, to].
func (p *places) between(from, to int) []int32 {
	first := p.index(from)
	end := first
	for end < len(p.all) && int(p.all[end]) <= to {
		end++
	}
	return p.all[first:end]
}
