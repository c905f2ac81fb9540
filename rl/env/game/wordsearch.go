package game

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// wordSearch: find the words in a square of letters by their first and last cell. Each word is paid once; upstream pays
// again for the same word from the other end.
type wordSearch struct {
	standard
	p              env.Params
	basic, english *lexicon
	grid           *lattice
	found          []bool // of grid.placed
	marked         []bool // cells of found words
	tried          map[[4]int]bool
}

func newWordSearch(basic, english *lexicon) func(env.Params) (env.Env, error) {
	return func(p env.Params) (env.Env, error) {
		if err := check(p, turns, limits{"num_words", 1, 100, true}, limits{"hardcore", 0, 1, true}); err != nil {
			return nil, err
		}
		if have := min(len(basic.all), len(english.all)); have < max(p["num_words"], 5) {
			return nil, fmt.Errorf("a word list has %d words; more are needed", have)
		}
		return newGame(&wordSearch{p: p, basic: basic, english: english}), nil
	}
}

func (g *wordSearch) deal(_ uint64, r *python.Random) (int, string, error) {
	n, limit, hard := g.p["num_words"], g.p["max_turns"], g.p["hardcore"] == 1
	if anyDrawn(g.p, "num_words", "max_turns", "hardcore") {
		hard, n, limit = r.Below(2) == 1, 5, 20
	}
	words, kind := g.basic.all, "Basic"
	if hard {
		words, kind = g.english.all, "Hardcore"
	}
	picked := make([]string, n)
	for i, at := range r.Sample(len(words), n) {
		picked[i] = strings.ToUpper(words[at])
	}
	slices.SortStableFunc(picked, func(a, b string) int { return len(b) - len(a) })
	g.grid = weave(picked, r, false)
	for i, c := range g.grid.cells {
		if c == 0 {
			g.grid.cells[i] = 'A' + byte(r.Below(26))
		}
	}
	g.found, g.marked, g.tried = make([]bool, len(g.grid.placed)), make([]bool, len(g.grid.cells)), map[[4]int]bool{}
	return limit, fmt.Sprintf(`You are participating in a Word Search challenge (%s).
Find the words that are hidden in a square of letters. Rows and columns are numbered from 0.

Words that were found are shown in [ ].
You may think aloud, but only what is inside \boxed{start_row start_col end_row end_col} counts: the cells of the `+
		`first and the last letter.
For instance: \boxed{1 1 1 5} claims the five letters of row 1 from column 1 to column 5.

Guidelines:
- you have a maximum of %d turns to find all the words.
- words run across (to the right) or down.
- words may share letters.
- do not try the same cells twice.
`, kind, limit), nil
}

func (g *wordSearch) play(t *turn, action string) {
	var m [4]number
	found := false
	for c := moves(action); !found && c.next(); {
		found = c.numbers(m[:], math.MaxInt)
	}
	if !found {
		t.malform().at().say(`you did not provide a valid guess in \boxed{start_row start_col end_row end_col} format.`)
		return
	}
	place := func() {
		t.say("(").say(m[0].text).say(", ").say(m[1].text).say(") to (").say(m[2].text).say(", ").say(m[3].text).say(
			")")
	}
	a := [4]int{m[0].value, m[1].value, m[2].value, m[3].value}
	if slices.Max(a[:]) >= g.grid.side {
		t.at().say("your tried coordinates ")
		place()
		t.say(" are out of bounds.")
		return
	}
	hit := g.hit(a)
	if g.tried[a] || hit >= 0 && g.found[hit] {
		t.at().say("you have already tried the coordinates ")
		place()
		t.say(".")
		return
	}
	g.tried[a] = true
	switch {
	case a[0] != a[2] && a[1] != a[3]:
		t.at().say("you tried ")
		place()
		t.say(", which is not valid because words must be either across (horizontal) or down (vertical).")
	case hit < 0:
		t.at().say("incorrect attempt. No word found at coordinates ")
		place()
		t.say(".")
	default:
		g.claim(t, hit, place)
	}
}

// hit is the word between two cells, in either order, -1 if there is none.
func (g *wordSearch) hit(a [4]int) int {
	for i, p := range g.grid.placed {
		row, col := p.cell(len(p.word) - 1)
		if a == [4]int{p.row, p.col, row, col} || a == [4]int{row, col, p.row, p.col} {
			return i
		}
	}
	return -1
}

func (g *wordSearch) claim(t *turn, i int, place func()) {
	p := g.grid.placed[i]
	g.found[i], t.moved = true, true
	for k := range len(p.word) {
		row, col := p.cell(k)
		g.marked[row*g.grid.side+col] = true
	}
	t.reward = 1 / float64(len(g.found))
	if !slices.Contains(g.found, false) {
		t.win(t.reward).say("Congratulations! You completed the Word Search puzzle!")
		return
	}
	t.at().say("correct! You found the word '").say(p.word).say("' at coordinates ")
	place()
	t.say(".")
}

func (g *wordSearch) suffix(b []byte) []byte {
	b = g.grid.appendHeader(append(b, "Current Board:\n"...))
	found := 0
	for _, f := range g.found {
		if f {
			found++
		}
	}
	for at, c := range g.grid.cells {
		if at%g.grid.side == 0 {
			b = append(appendTwo(append(b, '\n', 'R'), at/g.grid.side), ' ')
		}
		if g.marked[at] {
			b = append(b, '[', c, ']', ' ')
		} else {
			b = append(b, ' ', c, ' ', ' ')
		}
	}
	b = appendRight(append(b, "\nWords Found: "...), found, 1)
	b = appendRight(append(b, '/'), len(g.found), 1)
	return append(b, "\nEnter your guess."...)
}

func (g *wordSearch) fork() rules {
	c := *g
	c.found, c.marked, c.tried = slices.Clone(g.found), slices.Clone(g.marked), make(map[[4]int]bool, len(g.tried))
	for k := range g.tried {
		c.tried[k] = true
	}
	return &c
}

func (g *wordSearch) sample(s env.Draws) string {
	row := s.IntN(g.grid.side)
	return boxed(row, s.IntN(g.grid.side), row, s.IntN(g.grid.side))
}
