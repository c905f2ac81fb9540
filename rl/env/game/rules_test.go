package game

import (
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// begin makes a game of an id in the episode of seed 0.
func beginGame(t *testing.T, id string, params env.Params) *Game {
	t.Helper()
	e, err := newRegistry(t).Make(id, params)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(0); err != nil {
		t.Fatal(err)
	}
	return e.(*Game)
}

func say(t *testing.T, g *Game, action string) env.Transition {
	t.Helper()
	tr, err := g.Step(action)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestPrompts: every task names its limits, and shows a well-formed move.
func TestPrompts(t *testing.T) {
	registry := newRegistry(t)
	for _, spec := range registry.Specs() {
		e, err := registry.Make(spec.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.Reset(1)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(o.Text, `\boxed{`) || strings.Contains(o.Text, "%!") {
			t.Errorf("%s: the task is\n%s", spec.ID, o.Text)
		}
	}
}

func TestFifteenPuzzleMovesTilesNotTheSpace(t *testing.T) {
	for move, want := range map[string]string{"down": "13 14 15 __", "right": "13 14 __ 15", "up": "13 14 15 __",
		"left": "13 14 15 __"} {
		g := beginGame(t, "game:FifteenPuzzle-v0-hard", nil)
		r := g.rules.(*fifteenPuzzle)
		for i := range r.tiles {
			r.tiles[i] = (i + 1) % len(r.tiles)
		}
		r.space = 15
		tr := say(t, g, boxedText(move))
		legal := strings.Contains(tr.Text, "valid move")
		switch {
		case move == "down" && (!legal || r.tiles[11] != 0 || r.tiles[15] != 12):
			t.Errorf("down from the goal gives %v", r.tiles)
		case move == "right" && !strings.Contains(tr.Suffix, want):
			t.Errorf("right from the goal gives\n%s", tr.Suffix)
		case (move == "up" || move == "left") && legal:
			t.Errorf("%s from the goal is possible", move)
		}
	}
}

// TestFifteenPuzzleCanBeSolved: both ways to begin keep the parity of the goal.
func TestFifteenPuzzleCanBeSolved(t *testing.T) {
	goal := &fifteenPuzzle{n: 4, tiles: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0}}
	for way := range 2 {
		g := beginGame(t, "game:FifteenPuzzle-v0-hard", env.Params{"pure_random": way})
		for seed := range uint64(50) {
			if _, err := g.Reset(seed); err != nil {
				t.Fatal(err)
			}
			if r := g.rules.(*fifteenPuzzle); r.parity() != goal.parity() {
				t.Errorf("pure_random=%d, seed %d: %v cannot be solved", way, seed, r.tiles)
			}
		}
	}
	goal.tiles[13], goal.tiles[14] = 15, 14
	solved := &fifteenPuzzle{n: 4, tiles: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0}}
	if goal.parity() == solved.parity() {
		t.Error("two swapped tiles do not change the parity")
	}
}

// TestMinesweeperEndsWithFlags: all safe cells are worth 1, but the game is won only by a reveal after all flags,
// unless must_flag is 0.
func TestMinesweeperEndsWithFlags(t *testing.T) {
	for mustFlag, done := range []bool{true, false} {
		g := beginGame(t, "game:Minesweeper-v0-easy", env.Params{"must_flag": mustFlag, "max_turns": 99})
		r := g.rules.(*minesweeper)
		total, tr := say(t, g, `\boxed{reveal 0 0}`).Reward, env.Transition{}
		for at := range r.cells {
			if c := r.cells[at]; !c.mine && !c.revealed {
				tr = say(t, g, move("reveal", at/5, at%5))
				total += tr.Reward
			}
		}
		if total < .999 || tr.Done() != done {
			t.Errorf("must_flag=%d: after the last safe cell the total is %v and the game over: %v, want 1 and %v",
				mustFlag, total, tr.Done(), done)
		}
	}
}

func TestHangmanWantsTheWord(t *testing.T) {
	g := beginGame(t, "game:Hangman-v0-easy", nil)
	word := g.rules.(*hangman).secret
	total := 0.0
	for _, letter := range word {
		tr := say(t, g, boxedText(strings.ToLower(string(letter))))
		if total += tr.Reward; tr.Done() {
			t.Error("letters alone end the game")
		}
	}
	if tr := say(t, g, boxedText(word)); !tr.Terminated || total != .5 || tr.Reward != .5 {
		t.Errorf("letters give %v and the word then %v, want half each", total, tr.Reward)
	}
}

// TestWordSearchPaysOnce: upstream pays a word again from its other end.
func TestWordSearchPaysOnce(t *testing.T) {
	g := beginGame(t, "game:WordSearch-v0-easy", nil)
	p := g.rules.(*wordSearch).grid.placed[0]
	row, col := p.cell(len(p.word) - 1)
	if tr := say(t, g, boxed(row, col, p.row, p.col)); tr.Reward != .2 {
		t.Errorf("a word from its end gives %v: %s", tr.Reward, tr.Text)
	}
	if tr := say(t, g, boxed(p.row, p.col, row, col)); tr.Reward != 0 || !strings.Contains(tr.Text, "already tried") {
		t.Errorf("the same word from its start gives %v: %s", tr.Reward, tr.Text)
	}
}

func TestGame2048MergesOnce(t *testing.T) {
	for _, tt := range []struct{ line, want [4]int }{
		{[4]int{2, 2, 2, 2}, [4]int{4, 4, 0, 0}},
		{[4]int{4, 2, 2, 0}, [4]int{4, 4, 0, 0}},
		{[4]int{0, 0, 2, 2}, [4]int{4, 0, 0, 0}},
		{[4]int{2, 0, 4, 2}, [4]int{2, 4, 2, 0}},
		{[4]int{2, 4, 0, 0}, [4]int{2, 4, 0, 0}},
		{[4]int{2, 2, 4, 0}, [4]int{4, 4, 0, 0}},
	} {
		g := &game2048{n: 4, cells: append(make([]int, 12), tt.line[:]...)}
		changed := g.slide(left)
		if got := [4]int(g.cells[12:]); got != tt.want || changed != (tt.line != tt.want) {
			t.Errorf("%v to the left gives %v (changed: %v), want %v", tt.line, got, changed, tt.want)
		}
	}
}

// TestRefusedParams: values that make no game are refused before it begins.
func TestRefusedParams(t *testing.T) {
	registry := newRegistry(t)
	for _, tt := range []struct {
		id   string
		p    env.Params
		want string
	}{
		{"game:GuessTheNumber-v0-easy", env.Params{"min_number": 10}, "min_number must be less than max_number"},
		{"game:GuessTheNumber-v0-easy", env.Params{"max_turns": 0}, "max_turns is 0; it must be from 1"},
		{"game:Mastermind-v0-easy", env.Params{"code_length": 7}, "must not exceed num_numbers, 6"},
		{"game:Minesweeper-v0-easy", env.Params{"num_mines": 25}, "num_mines must leave a cell"},
		{"game:Sudoku-v0-easy", env.Params{"scale": 5}, "must be 4 or 9"},
		{"game:Game2048-v0-easy", env.Params{"target_tile": 100}, "must be a power of 2"},
		{"game:Sokoban-v0-easy", env.Params{"dim_room": 3}, "dim_room is 3"},
		{"game:Wordle-v0-easy", env.Params{"word_length": 40}, "no word of 40 letters"},
		{"game:Crosswords-v0-easy", env.Params{"num_words": -5}, "num_words is -5"},
	} {
		if _, err := registry.Make(tt.id, tt.p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %v: the error is %v, want %q in it", tt.id, tt.p, err, tt.want)
		}
	}
	e, err := registry.Make("game:Sokoban-v0-easy", env.Params{"dim_room": 5, "num_boxes": 6})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(0); err == nil || !strings.Contains(err.Error(), "take more cells or fewer boxes") {
		t.Errorf("a room without space gives the error %v", err)
	}
}
