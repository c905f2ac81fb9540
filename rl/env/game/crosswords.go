package game

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// crosswords: fill a crossword letter by letter. Each right letter is paid.
type crosswords struct {
	standard
	p      env.Params
	clues  []clue
	grid   *lattice
	legend string // the clues of the words in the grid
	filled []bool
	letter int // letters in the grid
	open   int // those that are not filled
}

func newCrosswords(clues []clue) func(env.Params) (env.Env, error) {
	return func(p env.Params) (env.Env, error) {
		if err := check(p, turns, limits{"num_words", 1, 50, true}, limits{"hardcore", 0, 1, true}); err != nil {
			return nil, err
		}
		g := &crosswords{p: p, clues: clues}
		for _, hard := range []bool{false, true} {
			if have := len(g.ofKind(hard)); have < max(p["num_words"], 3) &&
				(p["hardcore"] == env.Drawn || (p["hardcore"] == 1) == hard) {
				return nil, fmt.Errorf("the list has %d clues (hardcore: %v); more are needed", have, hard)
			}
		}
		return newGame(g), nil
	}
}

func (g *crosswords) ofKind(hard bool) (rows []clue) {
	for _, c := range g.clues {
		if c.hard == hard {
			rows = append(rows, c)
		}
	}
	return rows
}

func (g *crosswords) deal(_ uint64, r *python.Random) (int, string, error) {
	n, limit, hard := g.p["num_words"], g.p["max_turns"], g.p["hardcore"] == 1
	if anyDrawn(g.p, "num_words", "max_turns", "hardcore") {
		hard, n, limit = r.Below(2) == 1, 3, 20
	}
	rows := g.ofKind(hard)
	var picked []clue
	for _, i := range r.Sample(len(rows), n) {
		picked = append(picked, rows[i])
	}
	slices.SortStableFunc(picked, func(a, b clue) int { return len(b.word) - len(a.word) })
	words := make([]string, n)
	for i, c := range picked {
		words[i] = c.word
	}
	g.grid = weave(words, r, true)
	g.filled = make([]bool, len(g.grid.cells))
	g.letter = 0
	for _, c := range g.grid.cells {
		if c != 0 {
			g.letter++
		}
	}
	g.open = g.letter
	var b strings.Builder
	for _, p := range g.grid.placed {
		fmt.Fprintf(&b, "%d. %s (%s): %d letters\n", p.index+1, picked[p.index].text, p.direction(), len(p.word))
	}
	g.legend = b.String()
	return limit, fmt.Sprintf(`You are playing Crosswords.
Rows and columns of the grid are numbered from 0. '_' is a cell to fill, and '.' is not used.

Each turn fills one cell.
You may think aloud, but only what is inside \boxed{row column letter} counts, e.g. \boxed{0 0 d}, \boxed{1 2 G}.
you have to finish the game in a maximum of %d turns.
Your moves will be listed below.
`, limit), nil
}

func (g *crosswords) play(t *turn, action string) {
	var row, col number
	var letter string
	found := false
	for c := moves(action); !found && c.next(); {
		row, col, letter, found = c.lettering()
	}
	if !found {
		t.malform().at().say(`you did not provide a valid guess in \boxed{row column letter} format.`)
		return
	}
	inside := row.value < g.grid.side && col.value < g.grid.side
	at := row.value*g.grid.side + col.value
	if inside && g.grid.cells[at] != 0 && !g.filled[at] && upper(g.grid.cells[at]) == letter[0] {
		g.filled[at], t.moved = true, true
		t.reward = 1 / float64(g.letter)
		if g.open--; g.open == 0 {
			t.win(t.reward).say("Congratulations! You completed the Crosswords puzzle!")
			return
		}
		t.at().say("you placed ").say(letter).say(" at (").say(row.text).say(", ").say(col.text).say(") correctly.")
		return
	}
	t.at().say("you tried to place ").say(letter).say(" at (").say(row.text).say(", ").say(col.text)
	switch {
	case !inside:
		t.say("), which is out of bounds.")
	case g.grid.cells[at] == 0:
		t.say("), which is a black dot and cannot be filled.")
	case g.filled[at]:
		t.say("), but the cell is already filled.")
	default:
		t.say("), but it is incorrect.")
	}
}

// lettering takes a row, a column and a letter, which it returns in upper case, and the closing brace.
func (c *cursor) lettering() (row, col number, letter string, ok bool) {
	if row, ok = c.number(); !ok || c.spaces() == 0 {
		return row, col, "", false
	}
	if col, ok = c.number(); !ok || c.spaces() == 0 {
		return row, col, "", false
	}
	letter = strings.ToUpper(c.letters())
	return row, col, letter, len(letter) == 1 && c.close()
}

func upper(c byte) byte { return c &^ 0x20 }

func (g *crosswords) suffix(b []byte) []byte {
	b = g.grid.appendHeader(append(b, "Current Board:\n"...))
	for at, c := range g.grid.cells {
		if at%g.grid.side == 0 {
			b = append(appendTwo(append(b, '\n', 'R'), at/g.grid.side), ' ')
		}
		switch {
		case c == 0:
			c = '.'
		case g.filled[at]:
			c = upper(c)
		default:
			c = '_'
		}
		b = append(b, ' ', c, ' ', ' ')
	}
	b = append(b, "\nHere are the clues for the words you need to find:\n"...)
	return append(append(b, g.legend...), "Enter your guess."...)
}

func (g *crosswords) fork() rules {
	c := *g
	c.filled = slices.Clone(g.filled)
	return &c
}

func (g *crosswords) sample(s env.Draws) string {
	k := s.IntN(g.open)
	for at, c := range g.grid.cells {
		if c == 0 || g.filled[at] {
			continue
		}
		if k == 0 {
			b := boxed(at/g.grid.side, at%g.grid.side)
			return b[:len(b)-1] + " " + string(rune('a'+s.IntN(26))) + "}"
		}
		k--
	}
	return ""
}
