package game

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// fifteenPuzzle: slide tiles until they are in order. Only the solution is paid, and at the end the tiles in their
// places.
type fifteenPuzzle struct {
	p     env.Params
	n     int
	tiles []int // row by row, 0 is the space
	space int   // its place
}

// shuffles is how many random slides lead away from the goal.
const shuffles = 100

func newFifteenPuzzle(p env.Params) (env.Env, error) {
	return newGame(&fifteenPuzzle{p: p}), check(p, turns, limits{"num_rows", 2, 30, true},
		limits{"pure_random", 0, 1, false})
}

func (g *fifteenPuzzle) deal(_ uint64, r *python.Random) (int, string, error) {
	limit := g.p["max_turns"]
	g.n = g.p["num_rows"]
	if anyDrawn(g.p, "num_rows", "max_turns") {
		level := [3][2]int{{2, 10}, {3, 20}, {4, 50}}[r.Below(3)]
		g.n, limit = level[0], level[1]
	}
	g.tiles = make([]int, g.n*g.n)
	for i := range len(g.tiles) - 1 {
		g.tiles[i] = i + 1
	}
	g.space = len(g.tiles) - 1
	if g.p["pure_random"] == 1 {
		g.scatter(r)
		g.space = slices.Index(g.tiles, 0)
	} else {
		g.walk(r)
	}
	last := len(g.tiles) - 1
	return limit, fmt.Sprintf(`You are playing the %d-Puzzle game.
Put the numbered tiles in order from 1 to %d, row by row, with the empty space in the bottom-right corner.
Only a tile beside the empty space, shown as `+"`__`"+`, can slide into it. The moves are:
- 'up': slide the tile below the empty space up
- 'down': slide the tile above the empty space down
- 'left': slide the tile to the right of the empty space left
- 'right': slide the tile to the left of the empty space right
You may think aloud, but only the direction inside \boxed{...} counts.
The current board layout is shown below. Use it to choose your next move.
`, last, last), nil
}

// walk makes random slides that do not take the last one back.
func (g *fifteenPuzzle) walk(r *python.Random) {
	before := direction(-1)
	var room [4]direction
	for range shuffles {
		open := room[:0]
		for d := up; d <= right; d++ {
			if g.neighbour(d) >= 0 && (before < 0 || d != before.reverse()) {
				open = append(open, d)
			}
		}
		before = open[r.Below(len(open))]
		g.slide(before)
	}
}

// scatter puts the tiles anywhere, and swaps two of them if the goal could not be reached.
func (g *fifteenPuzzle) scatter(r *python.Random) {
	goal := g.parity()
	r.Shuffle(len(g.tiles), func(i, j int) { g.tiles[i], g.tiles[j] = g.tiles[j], g.tiles[i] })
	if g.parity() == goal {
		return
	}
	var places []int
	for i, tile := range g.tiles {
		if tile != 0 {
			places = append(places, i)
		}
	}
	two := r.Sample(len(places), 2)
	i, j := places[two[0]], places[two[1]]
	g.tiles[i], g.tiles[j] = g.tiles[j], g.tiles[i]
}

// parity stays the same under slides: the parity of the permutation plus the space's distance from the first cell.
func (g *fifteenPuzzle) parity() int {
	space := slices.Index(g.tiles, 0)
	n := space/g.n + space%g.n
	for i, a := range g.tiles {
		for _, b := range g.tiles[i+1:] {
			if a > b {
				n++
			}
		}
	}
	return n % 2
}

// neighbour is the place of the tile that would slide, -1 if there is none.
func (g *fifteenPuzzle) neighbour(d direction) int {
	row, col := d.step()
	row, col = g.space/g.n-row, g.space%g.n-col
	if row < 0 || row >= g.n || col < 0 || col >= g.n {
		return -1
	}
	return row*g.n + col
}

// slide moves a tile and reports whether there was one.
func (g *fifteenPuzzle) slide(d direction) bool {
	from := g.neighbour(d)
	if from < 0 {
		return false
	}
	g.tiles[g.space], g.tiles[from] = g.tiles[from], 0
	g.space = from
	return true
}

// placed counts the cells that hold what they should, the space included.
func (g *fifteenPuzzle) placed() int {
	n := 0
	for i, tile := range g.tiles {
		if tile == (i+1)%len(g.tiles) {
			n++
		}
	}
	return n
}

func (g *fifteenPuzzle) play(t *turn, action string) {
	d, ok := lastDirection(action)
	if !ok {
		t.malform().at().say("you did not provide a valid guess")
		return
	}
	t.moved = g.slide(d)
	switch {
	case !t.moved:
		t.at().say("you chose a move ").say(d.String()).say(" that is outside the bounds of the board.")
	case g.placed() == len(g.tiles):
		t.win(1).say("Congratulations! You have solved the puzzle!")
	default:
		t.at().say("you made a valid move: ").say(d.String()).say(".\n")
	}
}

func (g *fifteenPuzzle) timeout(t *turn) {
	standard{}.timeout(t)
	t.reward += float64(g.placed()) / float64(len(g.tiles))
}

func (g *fifteenPuzzle) suffix(b []byte) []byte {
	b = append(b, "Here is the current board layout: \n"...)
	b = appendBoard(b, g.tiles, g.n, func(b []byte, tile int) []byte {
		if tile == 0 {
			return append(b, "__"...)
		}
		return appendRight(b, tile, 2)
	})
	return append(b, "\nEnter your move."...)
}

func (g *fifteenPuzzle) fork() rules {
	c := *g
	c.tiles = slices.Clone(g.tiles)
	return &c
}

func (g *fifteenPuzzle) sample(s env.Draws) string { return sampleDirection(s) }
