package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
)

// Sudoku is sudoku_workflow: fill a board in steps of one to five cells. The row's columns puzzle and solution are
// boards of 9×9 numbers, 0 for an empty cell; a row without them gets a board that its number decides, half of it
// empty. An experience is one step: reward −1 and the end for an answer of another form, a cell that is
// taken or a broken rule, 1 for the step that completes the solution, else 0.
type Sudoku struct{}

const (
	sudokuSteps = 20
	sudokuCells = 5 // filled in one step
)

type sudokuBoard [9][9]int

const sudokuRules = `Solve a Sudoku step by step. In each row, each column and each of the nine 3x3 blocks the ` +
	`numbers 1 to 9 stand once. 0 is an empty cell; only empty cells are filled.
Answer with one to %d cells to fill and nothing else, a cell a line: row, column (both counted from 0) and number, ` +
	`such as
0 2 4
1 3 5

Steps done: %d. Steps left: %d.
The board:
%s`

// Run implements Workflow.
func (Sudoku) Run(ctx context.Context, r *Rollout, t Task) ([]*experience.Experience, error) {
	puzzle, solution, err := sudokuTask(t)
	if err != nil {
		return nil, err
	}
	return r.episodes(t, func(run int) ([]*experience.Experience, error) {
		return playSudoku(ctx, r, t, run, puzzle, solution)
	})
}

// Prepare implements Preparer: the board rewards.
func (Sudoku) Prepare(*Rollout) error { return nil }

func sudokuTask(t Task) (puzzle, solution sudokuBoard, err error) {
	p, given := t.Row.Get("puzzle")
	s, solved := t.Row.Get("solution")
	if !given || !solved {
		puzzle, solution = drawSudoku(rng.New(uint64(t.Index)).Stream("sudoku"))
		return puzzle, solution, nil
	}
	read := func(column string, v any, into *sudokuBoard) error {
		var rows [][]int
		if err := json.Unmarshal([]byte(plainText(v)), &rows); err != nil {
			return fmt.Errorf("workflow: sudoku_workflow: the column %s of row %d: %w", column, t.Index, err)
		}
		if len(rows) != 9 {
			return fmt.Errorf("workflow: sudoku_workflow: the column %s of row %d has %d rows; a board has 9", column,
				t.Index, len(rows))
		}
		for y, row := range rows {
			if len(row) != 9 {
				return fmt.Errorf("workflow: sudoku_workflow: the column %s of row %d has a row of %d cells; a board "+
					"has 9", column, t.Index, len(row))
			}
			copy(into[y][:], row)
		}
		return nil
	}
	return puzzle, solution, errors.Join(read("puzzle", p, &puzzle), read("solution", s, &solution))
}

// drawSudoku fills a board at random and empties half of it.
func drawSudoku(s rng.Stream) (puzzle, solution sudokuBoard) {
	solution.fill(&s, 0)
	puzzle = solution
	for _, cell := range s.Perm(81)[:81/2] {
		puzzle[cell/9][cell%9] = 0
	}
	return puzzle, solution
}

// fill completes the board from a cell on, trying numbers in an order that is drawn.
func (b *sudokuBoard) fill(s *rng.Stream, cell int) bool {
	if cell == 81 {
		return true
	}
	for _, v := range s.Perm(9) {
		b[cell/9][cell%9] = v + 1
		if b.valid() && b.fill(s, cell+1) {
			return true
		}
	}
	b[cell/9][cell%9] = 0
	return false
}

// valid reports whether no number is twice in a row, column or block.
func (b *sudokuBoard) valid() bool {
	var rows, columns, blocks [9]uint
	for y := range 9 {
		for x, v := range b[y] {
			if v == 0 {
				continue
			}
			bit := uint(1) << v
			if (rows[y]|columns[x]|blocks[y/3*3+x/3])&bit != 0 {
				return false
			}
			rows[y], columns[x], blocks[y/3*3+x/3] = rows[y]|bit, columns[x]|bit, blocks[y/3*3+x/3]|bit
		}
	}
	return true
}

func (b *sudokuBoard) String() string {
	lines := make([]string, 9)
	for y := range lines {
		lines[y] = strings.Trim(fmt.Sprint(b[y]), "[]")
	}
	return strings.Join(lines, "\n")
}

// readCells reads an answer: row, column and number of each cell. ok is false for any other text.
func readCells(text string) (cells [][3]int, ok bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 || len(cells) == sudokuCells {
			return nil, false
		}
		var c [3]int
		for i, f := range fields {
			v, err := strconv.Atoi(f)
			low, high := 0, 8
			if i == 2 {
				low, high = 1, 9
			}
			if err != nil || v < low || v > high {
				return nil, false
			}
			c[i] = v
		}
		cells = append(cells, c)
	}
	return cells, len(cells) > 0
}

// put fills cells, and reports whether all of them were empty and no rule is broken.
func (b *sudokuBoard) put(cells [][3]int) bool {
	for _, c := range cells {
		if b[c[0]][c[1]] != 0 {
			return false
		}
		b[c[0]][c[1]] = c[2]
	}
	return b.valid()
}

// playSudoku plays one repetition.
func playSudoku(ctx context.Context, r *Rollout, t Task, run int, board,
	solution sudokuBoard) ([]*experience.Experience, error) {
	draws := rng.New(t.Seed).Stream("episode", run)
	var list []*experience.Experience
	for step := range sudokuSteps {
		c := &conversation{r: r}
		if err := c.say(chat.Message{Role: "user", Content: fmt.Sprintf(sudokuRules, sudokuCells, step,
			sudokuSteps-step, &board)}); err != nil {
			return nil, err
		}
		answer, err := c.answer(ctx, r.Params.MaxTokens, draws.Uint64())
		if err != nil {
			return nil, err
		}
		cells, ok := readCells(answer)
		reward := -1.0
		if ok && board.put(cells) {
			reward = 0
			if board == solution {
				reward = 1
			}
		}
		e := c.experience(t, run, 0, false)
		e.EID.Step = step
		e.SetReward(reward)
		e.Metrics["accuracy"] = max(reward, 0)
		list = append(list, e)
		if reward != 0 {
			break
		}
	}
	return list, nil
}
