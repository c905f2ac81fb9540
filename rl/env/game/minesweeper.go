package game

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// minesweeper: reveal all cells without a mine. Mines are laid at the first reveal, away from it. Each safe cell is
// paid.
type minesweeper struct {
	standard
	p          env.Params
	rows, cols int
	mines      int
	cells      []mineCell // row by row
	laid       bool
	hidden     int // safe cells that are not revealed
	queue      []int
	board      []byte // as it is shown, without the request to continue
	lines      []int  // where the first cell of each row is in it
}

// mineCell is a cell: a mine, or the number of mines around it.
type mineCell struct {
	mine, revealed, flagged bool
	around                  int8
}

func newMinesweeper(p env.Params) (env.Env, error) {
	if err := check(p, turns, limits{"rows", 1, 1000, true}, limits{"cols", 1, 1000, true},
		limits{"num_mines", 0, 1e6, true}, limits{"must_flag", 0, 1, false}); err != nil {
		return nil, err
	}
	if !anyDrawn(p, "rows", "cols", "num_mines") && p["num_mines"] >= p["rows"]*p["cols"] {
		return nil, errors.New("num_mines must leave a cell without a mine")
	}
	return newGame(&minesweeper{p: p}), nil
}

func (g *minesweeper) deal(_ uint64, r *python.Random) (int, string, error) {
	limit := g.p["max_turns"]
	g.rows, g.cols, g.mines = g.p["rows"], g.p["cols"], g.p["num_mines"]
	if anyDrawn(g.p, "rows", "cols", "num_mines", "max_turns") {
		n := r.Int(5, 8)
		g.rows, g.cols, g.mines, limit = n, n, n*n/5, n*n
	}
	g.cells = make([]mineCell, g.rows*g.cols)
	g.laid, g.hidden = false, g.rows*g.cols-g.mines
	g.draw()
	r1, c1 := r.Int(0, g.rows-1), r.Int(0, g.cols-1)
	r2, c2 := r.Int(0, g.rows-1), r.Int(0, g.cols-1)
	return limit, fmt.Sprintf(`You are playing the Minesweeper game.
Reveal all cells that have no mine.
There are two commands:
- 'reveal': open a cell
- 'flag': put a flag on a cell where you expect a mine, or take it away
You may think aloud, but only what is inside \boxed{} counts: the command, the row and the column.
For example:
- \boxed{reveal %d %d} reveals the cell in row %d, column %d.
- \boxed{flag %d %d} puts a flag on the cell in row %d, column %d, or takes it away.
On the board '.' is a cell that is not revealed, a number counts the mines in the cells around it, and 'F' is a flag.
Reason with the numbers, and choose neither revealed nor flagged cells.
`, r1, c1, r1, c1, r2, c2, r2, c2), nil
}

func (g *minesweeper) play(t *turn, action string) {
	var verb string
	var at [2]number
	found := false
	for c := moves(action); !found && c.next(); {
		verb = c.letters()
		found = verb != "" && c.spaces() == 1 && c.numbers(at[:], 1)
	}
	if !found {
		t.malform().at().say("you did not provide a valid guess.")
		return
	}
	place := func() { t.say("(").say(at[0].text).say(", ").say(at[1].text).say(")") }
	row, col := at[0].value, at[1].value
	if row >= g.rows || col >= g.cols {
		t.at().say("you chose cell ")
		place()
		t.say(", which is outside the bounds of the grid.")
		return
	}
	cell := &g.cells[row*g.cols+col]
	switch verb = strings.ToLower(verb); verb {
	case "reveal":
		g.reveal(t, row, col, place)
	case "flag":
		t.at()
		switch {
		case cell.revealed:
			t.say("you chose to flag cell ")
			place()
			t.say(", which has already been revealed.")
			return
		case cell.flagged:
			t.say("you removed a flag on cell ")
		default:
			t.say("you added a flag on cell ")
		}
		cell.flagged, t.moved = !cell.flagged, true
		g.mark(row*g.cols + col)
		place()
		t.say(".")
	default:
		t.at().say("you chose an invalid action '").say(verb).say("'. Valid actions are 'reveal' or 'flag'.")
	}
}

func (g *minesweeper) reveal(t *turn, row, col int, place func()) {
	if !g.laid {
		g.lay(row, col, t.random)
	}
	cell := &g.cells[row*g.cols+col]
	switch {
	case cell.mine:
		t.win(0).say("Game over! You hit a mine at ")
		place()
		return
	case cell.revealed || cell.flagged:
		t.at().say("you chose to reveal cell ")
		place()
		t.say(", which has already been revealed.")
		return
	}
	before := g.hidden
	t.moved = true
	g.flood(row*g.cols + col)
	t.reward = float64(before-g.hidden) / float64(len(g.cells)-g.mines)
	if g.solved() {
		t.win(t.reward).say("Congratulations! You have successfully cleared the Minesweeper board.")
		return
	}
	t.at().say("you successfully revealed cell ")
	place()
	t.say(".")
}

// lay draws the mines outside the neighbourhood of a cell. If that leaves too little room, which upstream never
// survives, only the cell itself stays free.
func (g *minesweeper) lay(row, col int, r *python.Random) {
	var room [8]int
	reach := 1
	if len(g.cells)-len(g.around(row*g.cols+col, &room))-1 < g.mines {
		reach = 0
	}
	for laid := 0; laid < g.mines; {
		i, j := r.Int(0, g.rows-1), r.Int(0, g.cols-1)
		cell := &g.cells[i*g.cols+j]
		if cell.mine || abs(i-row) <= reach && abs(j-col) <= reach {
			continue
		}
		cell.mine = true
		laid++
		for _, n := range g.around(i*g.cols+j, &room) {
			g.cells[n].around++
		}
	}
	g.laid = true
}

// flood reveals a cell and, from cells without mines around them, their neighbours.
func (g *minesweeper) flood(start int) {
	var room [8]int
	g.open(start)
	g.queue = append(g.queue[:0], start)
	for i := 0; i < len(g.queue); i++ {
		if g.cells[g.queue[i]].around > 0 {
			continue
		}
		for _, n := range g.around(g.queue[i], &room) {
			if c := &g.cells[n]; !c.revealed && !c.flagged {
				g.open(n)
				g.queue = append(g.queue, n)
			}
		}
	}
}

// open reveals a cell.
func (g *minesweeper) open(at int) {
	g.cells[at].revealed = true
	g.hidden--
	g.mark(at)
}

// mark shows a cell as it is.
func (g *minesweeper) mark(at int) {
	mark := byte('.')
	switch c := g.cells[at]; {
	case c.revealed:
		mark = '0' + byte(c.around)
	case c.flagged:
		mark = 'F'
	}
	g.board[g.lines[at/g.cols]+3*(at%g.cols)] = mark
}

// solved reports whether all safe cells are revealed and, as upstream wants it, all mines flagged.
func (g *minesweeper) solved() bool {
	return g.hidden == 0 && (g.p["must_flag"] == 0 ||
		!slices.ContainsFunc(g.cells, func(c mineCell) bool { return c.mine && !c.flagged }))
}

// around writes the up to eight neighbours of a cell into room.
func (g *minesweeper) around(at int, room *[8]int) []int {
	near := room[:0]
	row, col := at/g.cols, at%g.cols
	left, right := max(col-1, 0), min(col+1, g.cols-1)
	for i := max(row-1, 0); i <= min(row+1, g.rows-1); i++ {
		for n := i*g.cols + left; n <= i*g.cols+right; n++ {
			if n != at {
				near = append(near, n)
			}
		}
	}
	return near
}

// draw writes the board with all cells hidden.
func (g *minesweeper) draw() {
	b := append(g.board[:0], "Here is the current board layout:\n  "...)
	for j := range g.cols {
		b = appendRight(append(b, ' '), j, 2)
	}
	g.lines = g.lines[:0]
	for i := range g.rows {
		b = append(appendRight(append(b, '\n'), i, 2), ' ')
		g.lines = append(g.lines, len(b)+1)
		for range g.cols {
			b = append(b, " . "...)
		}
	}
	g.board = append(b, '\n')
}

func (g *minesweeper) suffix(b []byte) []byte {
	return append(append(b, g.board...), "\nEnter your guess."...)
}

func (g *minesweeper) fork() rules {
	c := *g
	c.cells, c.queue, c.board, c.lines = slices.Clone(g.cells), nil, slices.Clone(g.board), slices.Clone(g.lines)
	return &c
}

func (g *minesweeper) sample(s env.Draws) string {
	verb := "reveal "
	if s.IntN(5) == 0 {
		verb = "flag "
	}
	return boxedText(verb + strconv.Itoa(s.IntN(g.rows)) + " " + strconv.Itoa(s.IntN(g.cols)))
}

func abs(n int) int { return max(n, -n) }
