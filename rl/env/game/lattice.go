package game

import (
	"math"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// lattice is a square of letters with words across and down, as crosswords and word searches have them.
type lattice struct {
	side   int
	cells  []byte // row by row, 0 is empty
	placed []placement
}

// placement is a word in a lattice.
type placement struct {
	index    int // of the word as it was given
	word     string
	row, col int
	down     bool
}

// cell is the place of the i-th letter.
func (p placement) cell(i int) (row, col int) {
	if p.down {
		return p.row + i, p.col
	}
	return p.row, p.col + i
}

func (p placement) direction() string {
	if p.down {
		return "down"
	}
	return "across"
}

// weave places words, the longest first, in drawn directions: the first in the middle, each other one where it crosses
// one that lies already or, failing that, at the first free place. Words without a place are left out. With prune,
// crossings that do not fit are dropped before one is drawn; without it only those that begin outside.
func weave(words []string, r *python.Random, prune bool) *lattice {
	l := &lattice{side: int(math.RoundToEven(1.5 * float64(len(words[0]))))}
	l.cells = make([]byte, l.side*l.side)
	downs := make([]bool, len(words))
	for i := range downs {
		downs[i] = r.Below(2) == 1
	}
	for i, word := range words {
		p := placement{index: i, word: word, down: downs[i]}
		if i == 0 {
			p.row, p.col = l.side/2, (l.side-len(word))/2
			if p.down {
				p.row, p.col = p.col, p.row
			}
			l.put(p)
			continue
		}
		crossings := l.crossings(p, prune)
		r.Shuffle(len(crossings), func(i, j int) { crossings[i], crossings[j] = crossings[j], crossings[i] })
		if !l.first(crossings) {
			l.scan(p)
		}
	}
	return l
}

// crossings lists the places where a word shares a letter with one across its direction.
func (l *lattice) crossings(p placement, prune bool) (all []placement) {
	for _, other := range l.placed {
		for i := range len(p.word) {
			for j := range len(other.word) {
				if p.word[i] != other.word[j] || p.down == other.down {
					continue
				}
				p.row, p.col = other.cell(j)
				if p.down {
					p.row -= i
				} else {
					p.col -= i
				}
				if p.row >= 0 && p.col >= 0 && (!prune || l.fits(p)) {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// first puts the word at the first place where it fits.
func (l *lattice) first(places []placement) bool {
	for _, p := range places {
		if l.fits(p) {
			l.put(p)
			return true
		}
	}
	return false
}

// scan puts a word at the first place from the top left where it fits, if there is one.
func (l *lattice) scan(p placement) {
	for at := range l.cells {
		p.row, p.col = at/l.side, at%l.side
		if l.fits(p) {
			l.put(p)
			return
		}
	}
}

// inside reports whether a word lies inside.
func (l *lattice) inside(p placement) bool {
	row, col := p.cell(len(p.word) - 1)
	return p.row >= 0 && p.col >= 0 && row < l.side && col < l.side
}

// fits reports whether a word lies inside and on nothing but empty cells and its own letters.
func (l *lattice) fits(p placement) bool {
	if !l.inside(p) {
		return false
	}
	for i := range len(p.word) {
		row, col := p.cell(i)
		if c := l.cells[row*l.side+col]; c != 0 && c != p.word[i] {
			return false
		}
	}
	return true
}

func (l *lattice) put(p placement) {
	for i := range len(p.word) {
		row, col := p.cell(i)
		l.cells[row*l.side+col] = p.word[i]
	}
	l.placed = append(l.placed, p)
}

// appendHeader writes the numbers of the columns.
func (l *lattice) appendHeader(b []byte) []byte {
	b = append(b, "  "...)
	for j := range l.side {
		b = appendTwo(append(b, ' ', 'C'), j)
	}
	return b
}

// appendTwo writes a number with at least two digits.
func appendTwo(b []byte, n int) []byte {
	if n < 10 {
		b = append(b, '0')
	}
	return appendRight(b, n, 1)
}
