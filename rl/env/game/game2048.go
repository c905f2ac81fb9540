package game

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// game2048: merge equal tiles up to a target. Each new highest tile is paid by the doublings it brings.
type game2048 struct {
	p           env.Params
	n           int
	target      int
	cells       []int // row by row, 0 is empty
	first, best int   // highest tile after deal and until now, not above the target
}

func newGame2048(p env.Params) (env.Env, error) {
	if err := check(p, turns, limits{"target_tile", 8, 1 << 30, true}, limits{"board_size", 2, 50, false}); err != nil {
		return nil, err
	}
	if t := p["target_tile"]; t != env.Drawn && t&(t-1) != 0 {
		return nil, fmt.Errorf("target_tile is %d; it must be a power of 2", t)
	}
	return newGame(&game2048{p: p}), nil
}

func (g *game2048) deal(_ uint64, r *python.Random) (int, string, error) {
	limit := g.p["max_turns"]
	g.n, g.target = g.p["board_size"], g.p["target_tile"]
	if anyDrawn(g.p, "target_tile", "max_turns") {
		level := [3][2]int{{16, 20}, {32, 30}, {64, 50}}[r.Below(3)]
		g.target, limit = level[0], level[1]
	}
	g.cells = make([]int, g.n*g.n)
	g.spawn(r)
	g.spawn(r)
	g.first = slices.Max(g.cells)
	g.best = g.first
	return limit, fmt.Sprintf(`You are playing 2048.
Slide and merge tiles until one shows %d. You have %d turns maximum.

Rules:
- A move slides all tiles as far as they go: up, down, left or right.
- Two tiles with the same number that meet become one with twice the number.
- After each move that changes the board, a new tile (2 or 4) appears in an empty cell.

You may think aloud, but only the direction inside \boxed{...} counts.
For example: \boxed{%s}

`, g.target, limit, direction(r.Below(4))), nil
}

// spawn puts a new tile into an empty cell.
func (g *game2048) spawn(r *python.Random) {
	empty := count(g.cells, 0)
	if empty == 0 {
		return
	}
	at := slices.Index(g.cells, 0)
	for range r.Below(empty) {
		at += 1 + slices.Index(g.cells[at+1:], 0)
	}
	g.cells[at] = 4
	if r.Float64() < 0.9 {
		g.cells[at] = 2
	}
}

func (g *game2048) play(t *turn, action string) {
	d, ok := lastDirection(strings.ToLower(action))
	if !ok {
		t.malform().at().say(`you did not provide a valid move. Please use \boxed{direction} format.`)
		return
	}
	if t.moved = g.slide(d); !t.moved {
		t.at().say("you chose move '").say(d.String()).say(
			"' which doesn't change the board state. Try a different direction.")
		return
	}
	t.reward = g.progress()
	g.spawn(t.random)
	switch {
	case slices.Max(g.cells) >= g.target:
		t.win(t.reward).say("Congratulations! You reached the ").num(g.target).say(" tile in ").num(t.number).say(
			" turns!")
	case g.stuck():
		t.win(t.reward).say("Game over! No more moves possible.")
	default:
		t.at().say("you moved ").say(d.String())
	}
}

// progress is the reward of a move.
func (g *game2048) progress() float64 {
	highest := min(slices.Max(g.cells), g.target)
	if highest <= g.best {
		return 0
	}
	gained := bits.Len(uint(highest)) - bits.Len(uint(g.best))
	g.best = highest
	return float64(gained) / float64(bits.Len(uint(g.target))-bits.Len(uint(g.first)))
}

// slide moves all tiles and reports whether anything changed.
func (g *game2048) slide(d direction) bool {
	changed := false
	for i := range g.n {
		start, step := i*g.n, 1
		if d == up || d == down {
			start, step = i, g.n
		}
		if d == right || d == down {
			start, step = start+(g.n-1)*step, -step
		}
		changed = g.push(start, step) || changed
	}
	return changed
}

// push moves the tiles of a line towards its start.
func (g *game2048) push(start, step int) (changed bool) {
	free, merged := 0, false // the next free place of the line; whether the tile before it was merged
	for i := range g.n {
		tile := g.cells[start+i*step]
		if tile == 0 {
			continue
		}
		before := start + (free-1)*step
		if free > 0 && !merged && g.cells[before] == tile {
			g.cells[before], g.cells[start+i*step] = 2*tile, 0
			merged, changed = true, true
			continue
		}
		if i != free {
			g.cells[start+free*step], g.cells[start+i*step] = tile, 0
			changed = true
		}
		free, merged = free+1, false
	}
	return changed
}

// stuck reports whether no move would change the board.
func (g *game2048) stuck() bool {
	for i, c := range g.cells {
		if c == 0 || (i+1)%g.n > 0 && g.cells[i+1] == c || i+g.n < len(g.cells) && g.cells[i+g.n] == c {
			return false
		}
	}
	return true
}

func (g *game2048) timeout(t *turn) {
	t.text = append(t.text[:0], "You have reached the maximum number of turns ("...)
	t.num(t.limit).say(").")
}

func (g *game2048) suffix(b []byte) []byte {
	b = append(b, "Current board:\n"...)
	b = appendBoard(b, g.cells, g.n, func(b []byte, tile int) []byte {
		if tile == 0 {
			return append(b, "   ."...)
		}
		return appendRight(b, tile, 4)
	})
	return append(b, "Enter your move."...)
}

func (g *game2048) fork() rules {
	c := *g
	c.cells = slices.Clone(g.cells)
	return &c
}

func (g *game2048) sample(s env.Draws) string { return sampleDirection(s) }
