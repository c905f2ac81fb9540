package workflow

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
)

// lakeTries bounds the search for a map, which most chances of ice end soon.
const lakeTries = 100_000

// makeLake draws maps with numpy's generator until the goal can be reached within a number of steps, as upstream does.
func makeLake(size int, p float64, seed uint64, steps int) ([]string, error) {
	g := python.DefaultRNG(seed)
	for range lakeTries {
		board := make([][]byte, size)
		for y := range board {
			board[y] = make([]byte, size)
			for x := range board[y] {
				board[y][x] = 'F'
				if g.Float64() >= p {
					board[y][x] = 'H'
				}
			}
		}
		var start, goal [2]int
		for start == goal {
			start = [2]int{g.Integer(size), g.Integer(size)}
			goal = [2]int{g.Integer(size), g.Integer(size)}
		}
		board[start[0]][start[1]], board[goal[0]][goal[1]] = 'S', 'G'
		if lakeHasPath(board, start, steps) {
			rows := make([]string, size)
			for y := range rows {
				rows[y] = string(board[y])
			}
			return rows, nil
		}
	}
	return nil, fmt.Errorf("workflow: frozen_lake_workflow: no map of size %d with p %g has a path of %d steps after "+
		"%d tries; raise p or env_max_steps", size, p, steps, lakeTries)
}

// lakeHasPath searches depth first, tiles once each, as upstream does: which maps it refuses depends on that order.
func lakeHasPath(board [][]byte, start [2]int, most int) bool {
	type place struct{ y, x, steps int }
	frontier, seen := []place{{start[0], start[1], 0}}, map[[2]int]bool{}
	for len(frontier) > 0 {
		at := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		if at.steps > most || seen[[2]int{at.y, at.x}] {
			continue
		}
		seen[[2]int{at.y, at.x}] = true
		for _, d := range [][2]int{{1, 0}, {0, 1}, {-1, 0}, {0, -1}} {
			y, x := at.y+d[0], at.x+d[1]
			if y < 0 || y >= len(board) || x < 0 || x >= len(board) {
				continue
			}
			switch board[y][x] {
			case 'G':
				return true
			case 'H':
			default:
				frontier = append(frontier, place{y, x, at.steps + 1})
			}
		}
	}
	return false
}

// walker is a player on a lake.
type walker struct {
	rows []string
	y, x int
	slip *python.Generator // nil on ice that is not slippery
}

type lakeStep struct {
	name   string
	dy, dx int
}

// lakeSteps are the moves in Gymnasium's order, whose neighbours are the sides of each.
func lakeSteps() [4]lakeStep {
	return [4]lakeStep{{"left", 0, -1}, {"down", 1, 0}, {"right", 0, 1}, {"up", -1, 0}}
}

func newWalker(rows []string, seed uint64, slippery bool) *walker {
	w := &walker{rows: rows}
	for y, row := range rows {
		if x := strings.IndexByte(row, 'S'); x >= 0 {
			w.y, w.x = y, x
		}
	}
	if slippery {
		w.slip = python.DefaultRNG(seed)
		w.slip.Float64() // where to begin
	}
	return w
}

func (w *walker) tile() byte { return w.rows[w.y][w.x] }

// move makes a step, which the edge of the lake stops.
func (w *walker) move(step int) {
	if w.slip != nil {
		switch u := w.slip.Float64(); {
		case u < 1.0/3:
			step += 3
		case u >= 2.0/3:
			step++
		}
	}
	s := lakeSteps()[step%4]
	w.y = min(max(w.y+s.dy, 0), len(w.rows)-1)
	w.x = min(max(w.x+s.dx, 0), len(w.rows[0])-1)
}

// String is the lake as the model sees it.
func (w *walker) String() string {
	var b strings.Builder
	for y, row := range w.rows {
		for x := range row {
			sign := map[byte]string{'S': "_", 'F': "_", 'H': "O", 'G': "G"}[row[x]]
			if y == w.y && x == w.x {
				sign = map[byte]string{'H': "X", 'G': "√"}[row[x]]
				sign = cmp.Or(sign, "P")
			}
			b.WriteString(" " + sign + " \t")
		}
		if y+1 < len(w.rows) {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// readStep is the step that an answer names between its last triple backticks: a word, or its number from 1 to 4 in the
// order of lakeSteps.
func readStep(text string) (step int, ok bool) {
	parts := strings.Split(text, "```")
	if len(parts) < 3 {
		return 0, false
	}
	last := len(parts) - 2
	if len(parts)%2 == 0 { // the last ones are never closed
		last--
	}
	word := strings.ToLower(strings.TrimSpace(parts[last]))
	for i, s := range lakeSteps() {
		if word == s.name || word == fmt.Sprint(i+1) {
			return i, true
		}
	}
	return 0, false
}
