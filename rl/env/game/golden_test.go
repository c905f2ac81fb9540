package game

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// trace is one recorded episode.
type trace struct {
	Env    string
	Params env.Params // if they differ from the id's
	Seed   uint64
	Suffix *string         `json:"reset_suffix_sha256"` // null if Reset told none
	State  json.RawMessage // hidden state after Reset
	Steps  []struct {
		Action     string  `json:"a"`
		Text       string  `json:"obs"`
		Reward     float64 `json:"r"`
		Terminated bool    `json:"te"`
		Truncated  bool    `json:"tr"`
		Suffix     string  `json:"suf"` // the first 16 digits of its SHA-256
	}
}

// TestGolden replays recorded episodes of upstream: hidden state, observations, rewards, flags and suffixes are the
// same.
func TestGolden(t *testing.T) {
	registry := newRegistry(t)
	played := map[string]int{}
	for _, tr := range loadTraces(t, traces()) {
		ok := t.Run(tr.Env, func(t *testing.T) { replay(t, registry, tr) })
		if ok {
			played[tr.Env] += len(tr.Steps)
		}
	}
	if len(played) == 0 {
		t.Errorf("%s holds no episodes", traces())
	}
}

func replay(t *testing.T, registry *env.Registry, tr trace) {
	e, err := registry.Make(tr.Env, tr.Params)
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Reset(tr.Seed)
	if err != nil {
		t.Fatal(err)
	}
	g := e.(*Game)
	if want := fields(t, tr.State); !reflect.DeepEqual(hidden(t, g), want) {
		if dataDir() != "" || !install(t, g, tr.State) {
			t.Fatalf("seed %d: the hidden state is %v, want %v", tr.Seed, hidden(t, g), want)
		}
		g.show()
		o.Suffix = g.shown
	}
	c, isCrosswords := g.rules.(*crosswords)
	noSuffix := isCrosswords && c.legend == "" // of a crossword that was recorded without its clues
	if noSuffix {
		o.Suffix, tr.Suffix = "", nil
	}
	if tr.Suffix == nil && o.Suffix != "" || tr.Suffix != nil && digest(o.Suffix) != *tr.Suffix {
		t.Errorf("seed %d: the first suffix differs:\n%s", tr.Seed, o.Suffix)
	}
	for i, want := range tr.Steps {
		got, err := e.Step(want.Action)
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != want.Text || got.Reward != want.Reward || got.Terminated != want.Terminated ||
			got.Truncated != want.Truncated {
			t.Fatalf("seed %d, step %d, %q: got %q %v %v %v, want %q %v %v %v", tr.Seed, i, want.Action,
				got.Text, got.Reward, got.Terminated, got.Truncated, want.Text, want.Reward, want.Terminated,
				want.Truncated)
		}
		if !noSuffix && !strings.HasPrefix(digest(got.Suffix), want.Suffix) {
			t.Fatalf("seed %d, step %d, %q: the suffix differs:\n%s", tr.Seed, i, want.Action, got.Suffix)
		}
	}
}

// hidden is the state of a game as a recording writes it.
func hidden(t *testing.T, g *Game) map[string]any {
	state := map[string]any{"turns": g.limit}
	switch r := g.rules.(type) {
	case *guessTheNumber:
		state["n"], state["lo"], state["hi"] = r.secret, r.lo, r.hi
	case *mastermind:
		state["code"], state["nums"] = r.code, r.digits
	case *minesweeper:
		state["rows"], state["mines"] = r.rows, r.mines
	case *fifteenPuzzle:
		state["board"] = rows(r.tiles, r.n, true)
	case *sudoku:
		state["full"], state["board"] = rows(r.full, r.n, false), rows(r.cells, r.n, false)
	case *towerOfHanoi:
		state["disks"] = r.disks
	case *game2048:
		state["board"], state["target"] = rows(r.cells, r.n, false), r.target
	case *sokoban:
		state["fixed"], state["state"] = rows(ints(r.structure), r.n, false), rows(ints(r.cells), r.n, false)
	case *wordle:
		state["word"] = r.secret
	case *hangman:
		state["word"] = r.secret
	case *crosswords:
		state["sol"], state["placed"] = strings.Fields(lines(r.grid, '.')), placed(r.grid)
	case *wordSearch:
		state["grid"], state["placed"] = strings.Fields(lines(r.grid, ' ')), placed(r.grid)
	default:
		t.Fatalf("no hidden state of %T", r)
	}
	b, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	return fields(t, b)
}

func ints(b []byte) []int {
	all := make([]int, len(b))
	for i, c := range b {
		all[i] = int(c)
	}
	return all
}

// rows cuts a square board into rows, with null for 0 if that is how it was recorded.
func rows(cells []int, n int, null bool) (all [][]any) {
	for i, c := range cells {
		if i%n == 0 {
			all = append(all, nil)
		}
		var v any = c
		if c == 0 && null {
			v = nil
		}
		all[i/n] = append(all[i/n], v)
	}
	return all
}

func fields(t *testing.T, b []byte) (m map[string]any) {
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func loadTraces(t testing.TB, name string) []trace {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []trace
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var tr trace
		if err := json.Unmarshal(lines.Bytes(), &tr); err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMoves: the same texts are moves as upstream, in spelling, spaces and digits.
func TestMoves(t *testing.T) {
	if dataDir() != "" {
		t.Skip("recorded with the shipped words")
	}
	registry := newRegistry(t)
	data, err := os.ReadFile("testdata/moves.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	type move struct {
		Env        string
		Action     string  `json:"a"`
		Text       string  `json:"obs"`
		Reward     float64 `json:"r"`
		Terminated bool    `json:"te"`
		Truncated  bool    `json:"tr"`
	}
	for line := range strings.Lines(string(data)) {
		want := decode[move](t, []byte(line))
		e, err := registry.Make(want.Env, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		tr, err := e.Step(want.Action)
		if err != nil {
			t.Fatal(err)
		}
		if got := (move{want.Env, want.Action, tr.Text, tr.Reward, tr.Terminated, tr.Truncated}); got != want {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
	}
}
