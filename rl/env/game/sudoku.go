package game

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// sudoku: fill the board. Each cell filled as in the solution is paid; another number is refused even if no rule
// forbids it yet.
type sudoku struct {
	standard
	p     env.Params
	n     int   // numbers, rows and columns
	block int   // side of a block
	full  []int // the solution, row by row
	cells []int // the board, 0 is empty
	empty int   // empty cells
	first int   // empty cells after deal
}

func newSudoku(p env.Params) (env.Env, error) {
	if err := check(p, turns, limits{"scale", 4, 9, true}, limits{"clues", 1, 81, true}); err != nil {
		return nil, err
	}
	if s := p["scale"]; s != env.Drawn && s != 4 && s != 9 {
		return nil, fmt.Errorf("scale is %d; it must be 4 or 9", s)
	}
	if !anyDrawn(p, "scale", "clues") && p["clues"] > p["scale"]*p["scale"] {
		return nil, fmt.Errorf("clues is %d; the board has %d cells", p["clues"], p["scale"]*p["scale"])
	}
	return newGame(&sudoku{p: p}), nil
}

func (g *sudoku) deal(_ uint64, r *python.Random) (int, string, error) {
	limit, tries := g.p["max_turns"], g.p["clues"]
	g.n = g.p["scale"]
	if anyDrawn(g.p, "scale", "clues", "max_turns") {
		level := [2][3]int{{4, 10, 15}, {9, 50, 50}}[r.Below(2)]
		g.n, tries, limit = level[0], level[1], level[2]
	}
	g.block = g.n / 3
	if g.n == 4 {
		g.block = 2
	}
	g.full = make([]int, g.n*g.n)
	g.fill(r)
	g.cells = slices.Clone(g.full)
	g.empty = g.remove(r, tries)
	g.first = g.empty
	kind := "Sudoku"
	if g.n == 4 {
		kind = "a small version of Sudoku"
	}
	return limit, fmt.Sprintf(`You are playing %[1]s.
Rows and columns are numbered from 1 to %[2]d, and '.' is an empty cell.

Fill the empty cells so that each number from 1 to %[2]d stands once
1. in each row,
2. in each column,
3. in each block of %[3]d rows and %[3]d columns.

Rules and Instructions:
1. The numbers on the board stay.
2. Each turn fills one empty cell, and a number that does not belong there is refused.
3. Name the row, the column and the number as '\boxed{row column number}', e.g. \boxed{1 1 5}; nothing else counts.
4. The game ends when the board is full or the turns run out.
Your moves will be listed below. Good luck!

`, kind, g.n, g.block), nil
}

// fill completes the solution with the numbers of each cell in random order.
func (g *sudoku) fill(r *python.Random) bool {
	at := slices.Index(g.full, 0)
	if at < 0 {
		return true
	}
	var order [9]int
	for i := range g.n {
		order[i] = i + 1
	}
	r.Shuffle(g.n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	free := g.free(g.full, at)
	for _, v := range order[:g.n] {
		if free&(1<<v) == 0 {
			continue
		}
		g.full[at] = v
		if g.fill(r) {
			return true
		}
		g.full[at] = 0
	}
	return false
}

// free is the set of numbers that may stand in a cell, bit v for number v.
func (g *sudoku) free(cells []int, at int) uint {
	row, col := at/g.n, at%g.n
	top, side := row-row%g.block, col-col%g.block
	var used uint
	for i := range g.n {
		used |= 1<<cells[row*g.n+i] | 1<<cells[i*g.n+col] | 1<<cells[(top+i/g.block)*g.n+side+i%g.block]
	}
	return (1<<(g.n+1) - 2) &^ used
}

// remove tries to empty so many cells and returns how many it emptied; the solution stays the only one.
func (g *sudoku) remove(r *python.Random, tries int) (emptied int) {
	order := make([]int, len(g.cells))
	for i := range order {
		order[i] = i
	}
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, at := range slices.Backward(order[len(order)-tries:]) {
		g.cells[at] = 0
		if found := 0; g.count(&found) {
			g.cells[at] = g.full[at]
			continue
		}
		emptied++
	}
	return emptied
}

// count counts solutions and stops at two, which it reports. The cell with the fewest choices is filled first.
func (g *sudoku) count(found *int) bool {
	best, choices := -1, uint(0)
	for at, v := range g.cells {
		if v != 0 {
			continue
		}
		free := g.free(g.cells, at)
		if best < 0 || bits.OnesCount(free) < bits.OnesCount(choices) {
			best, choices = at, free
		}
		if bits.OnesCount(choices) < 2 {
			break
		}
	}
	if best < 0 {
		*found++
		return *found > 1
	}
	for ; choices != 0; choices &= choices - 1 {
		g.cells[best] = bits.TrailingZeros(choices)
		if g.count(found) {
			g.cells[best] = 0
			return true
		}
	}
	g.cells[best] = 0
	return false
}

func (g *sudoku) play(t *turn, action string) {
	var m [3]number
	found := false
	for c := moves(action); !found && c.next(); {
		found = c.numbers(m[:], 1)
	}
	if !found {
		t.malform().say("You did not provide a valid guess.")
		return
	}
	row, col, v := m[0].value, m[1].value, m[2].value
	inside := min(row, col, v) >= 1 && max(row, col, v) <= g.n
	at := (row-1)*g.n + col - 1
	if inside && g.cells[at] == 0 && v == g.full[at] {
		g.cells[at], t.moved = v, true
		t.reward = 1 / float64(g.first)
		if g.empty--; g.empty == 0 {
			t.win(t.reward).say("Congratulations! You have completed the Sudoku puzzle!")
			return
		}
		t.at().say("you placed ")
	} else {
		t.at().say("you tried to place ")
	}
	t.say(m[2].text).say(" at R").say(m[0].text).say(" C").say(m[1].text)
	switch {
	case !inside:
		t.say(", which is out of bounds.")
	case t.reward > 0:
		t.say(", which is correct.")
	case g.cells[at] != 0:
		t.say(", which is already filled. You cannot overwrite pre-filled cells.")
	default:
		t.say(", which violates Sudoku rules.")
	}
}

func (g *sudoku) suffix(b []byte) []byte {
	b = append(b, "Here is the current board layout:\n  "...)
	for j := 1; j <= g.n; j++ {
		b = append(b, ' ', 'C', '0'+byte(j))
		if j%g.block == 0 {
			b = append(b, "  "...)
		}
	}
	for i := range g.n {
		b = append(b, '\n', 'R', '1'+byte(i), ' ')
		for j, v := range g.cells[i*g.n : (i+1)*g.n] {
			if j > 0 {
				b = append(b, ' ')
			}
			if j > 0 && j%g.block == 0 {
				b = append(b, "| "...)
			}
			if b = append(b, ' ', '.'); v != 0 {
				b[len(b)-1] = '0' + byte(v)
			}
		}
		if (i+1)%g.block == 0 && i+1 < g.n {
			b = append(append(b, "\n   "...), dashes[:4*(g.n-1)]...)
		}
	}
	return append(b, "\nEnter your move."...)
}

// dashes are the line between blocks of the larger board.
const dashes = "- - - - - - - - - - - - - - - - "

func (g *sudoku) fork() rules {
	c := *g
	c.cells = slices.Clone(g.cells)
	return &c
}

func (g *sudoku) sample(s env.Draws) string {
	return boxed(1+s.IntN(g.n), 1+s.IntN(g.n), 1+s.IntN(g.n))
}
