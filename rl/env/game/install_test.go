package game

import (
	"encoding/json"
	"strings"
	"testing"
)

// install puts the recorded hidden state into a word game: without upstream's lists its words are others. Everything
// from there on can be compared. It reports false for other games.
func install(t *testing.T, g *Game, state json.RawMessage) bool {
	var s struct {
		Word, Sol, Grid json.RawMessage
		Placed          map[string][3]any
		Turns           int
	}
	if err := json.Unmarshal(state, &s); err != nil {
		t.Fatal(err)
	}
	switch r := g.rules.(type) {
	case *wordle:
		r.secret = decode[string](t, s.Word)
		r.found = make([]bool, len(r.secret))
	case *hangman:
		r.secret = decode[string](t, s.Word)
		r.known = make([]bool, len(r.secret))
	case *crosswords:
		r.grid = recordedLattice(decode[[]string](t, s.Sol), s.Placed)
		r.filled, r.letter, r.legend = make([]bool, len(r.grid.cells)), 0, ""
		for _, c := range r.grid.cells {
			if c != 0 {
				r.letter++
			}
		}
		r.open = r.letter
	case *wordSearch:
		r.grid = recordedLattice(decode[[]string](t, s.Grid), s.Placed)
		r.found, r.marked = make([]bool, len(r.grid.placed)), make([]bool, len(r.grid.cells))
	default:
		return false
	}
	g.limit = s.Turns
	return true
}

func decode[T any](t *testing.T, b json.RawMessage) (v T) {
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func recordedLattice(rows []string, words map[string][3]any) *lattice {
	l := &lattice{side: len(rows), cells: []byte(strings.Join(rows, ""))}
	for i, c := range l.cells {
		if c == '.' {
			l.cells[i] = 0
		}
	}
	for word, at := range words {
		p := placement{word: word, row: int(at[0].(float64)), col: int(at[1].(float64)), down: at[2] == "down"}
		l.placed = append(l.placed, p)
	}
	return l
}

// lines are the rows of a lattice, with a letter for empty cells.
func lines(l *lattice, empty byte) string {
	var b strings.Builder
	for i, c := range l.cells {
		if c == 0 {
			c = empty
		}
		b.WriteByte(c)
		if (i+1)%l.side == 0 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// placed are the words of a lattice as a recording has them.
func placed(l *lattice) map[string][3]any {
	words := map[string][3]any{}
	for _, p := range l.placed {
		words[p.word] = [3]any{p.row, p.col, p.direction()}
	}
	return words
}
