package game

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// The cells of a Sokoban room. A box on a target and the player are drawn over what the structure of the room holds
// there.
const (
	wall byte = iota
	floor
	target
	boxOnTarget
	box
	player
)

// sokoban: push all boxes onto targets. Only the solution is paid, and at the end the boxes on targets.
type sokoban struct {
	p         env.Params
	diggers   diggers
	n         int    // side of the room
	structure []byte // wall, floor and target, row by row
	cells     []byte // what is seen
}

func newSokoban(d diggers) func(env.Params) (env.Env, error) {
	return func(p env.Params) (env.Env, error) {
		if err := check(p, turns, limits{"dim_room", 5, 16, true}, limits{"num_boxes", 1, 6, true}); err != nil {
			return nil, err
		}
		return newGame(&sokoban{p: p, diggers: d}), nil
	}
}

func (g *sokoban) deal(seed uint64, r *python.Random) (int, string, error) {
	limit, boxes := g.p["max_turns"], g.p["num_boxes"]
	g.n = g.p["dim_room"]
	if anyDrawn(g.p, "dim_room", "num_boxes", "max_turns") {
		level := [2][3]int{{6, 2, 20}, {8, 5, 50}}[r.Below(2)]
		g.n, boxes, limit = level[0], level[1], level[2]
	}
	d := g.diggers.take()
	defer g.diggers.give(d)
	var err error
	if g.structure, g.cells, err = d.dig(seed, g.n, boxes); err != nil {
		return 0, "", err
	}
	example := direction(r.Below(4))
	return limit, fmt.Sprintf(`You are playing Sokoban.
Push all boxes onto the targets. You push a box by walking into it. A box cannot be pushed into a wall or another `+
		`box, and boxes cannot be pulled.
You have to complete the puzzle within %d turns.
On the board:
- # is a wall
- _ is floor
- O is a target
- X is a box
- √ is a box on a target
- P is the player
You may think aloud, but only the direction inside \boxed{} counts: up, down, left or right.
For example: \boxed{%s} to move %s.
Look ahead: a box in a corner stays there.`, limit, example, example), nil
}

func (g *sokoban) play(t *turn, action string) {
	d, ok := lastDirection(strings.ToLower(action))
	if !ok {
		t.malform().at().say("your submitted action is not valid.")
		return
	}
	pushed, moved := g.move(d)
	t.moved = moved
	switch {
	case !moved:
		t.at().say("you cannot move ").say(d.String()).say(" - you would collide with wall or other boxes!")
	case slices.Index(g.cells, box) < 0:
		t.win(1).say("Congratulations! You have solved the Sokoban puzzle!")
	case pushed:
		t.at().say("you pushed a box while you moved ").say(d.String()).say(".")
	default:
		t.at().say("you moved ").say(d.String()).say(".")
	}
}

// move walks or pushes.
func (g *sokoban) move(d direction) (pushed, moved bool) {
	row, col := d.step()
	step := row*g.n + col
	from := slices.Index(g.cells, player)
	to := from + step
	switch g.cells[to] {
	case wall:
		return false, false
	case box, boxOnTarget:
		switch beyond := to + step; g.cells[beyond] {
		case floor:
			g.cells[beyond] = box
		case target:
			g.cells[beyond] = boxOnTarget
		default:
			return false, false
		}
		pushed = true
	}
	g.cells[from], g.cells[to] = g.structure[from], player
	return pushed, true
}

func (g *sokoban) timeout(t *turn) {
	standard{}.timeout(t)
	on, off := 0, 0
	for _, c := range g.cells {
		switch c {
		case boxOnTarget:
			on++
		case box:
			off++
		}
	}
	t.reward = float64(on) / float64(on+off)
}

func (g *sokoban) suffix(b []byte) []byte {
	b = append(b, "Here is the current board layout:\n"...)
	b = appendBoard(b, g.cells, g.n, func(b []byte, cell byte) []byte {
		return append(b, [...]string{"#", "_", "O", "√", "X", "P"}[cell]...)
	})
	return append(b, "\nEnter your move."...)
}

func (g *sokoban) fork() rules {
	c := *g
	c.cells = slices.Clone(g.cells)
	return &c
}

func (g *sokoban) sample(s env.Draws) string { return sampleDirection(s) }
