package game

import (
	"cmp"
	"os"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/envtest"
)

// traces is a recording of upstream, and dataDir a folder with upstream's word and clue lists or "": with them the word
// games are compared with upstream from the seed on. bench/gem-python makes others and names them in the environment,
// since the hidden states that are compared are not public.
func traces() string {
	return cmp.Or(os.Getenv("TRINITY_TEST_GEM_TRACES"), "testdata/gem_traces.jsonl")
}
func dataDir() string { return os.Getenv("TRINITY_TEST_GEM_DATA") }

// TestSuite runs the suite over every id.
func TestSuite(t *testing.T) {
	registry := newRegistry(t)
	for _, spec := range registry.Specs() {
		t.Run(spec.ID, func(t *testing.T) {
			t.Parallel()
			s := envtest.Suite{
				Make:  func() (env.Env, error) { return registry.Make(spec.ID, nil) },
				Solve: solver(t, registry, spec.ID),
			}
			switch spec.ID {
			case "game:Sokoban-v0-hard", "game:Sokoban-v0-random":
				s.Seeds = 2 // a room takes a tenth of a second
			case "game:Crosswords-v0-random":
				s.Solve = nil // has sometimes more letters than turns
			case "game:WikiGame-v0-easy", "game:WikiGame-v0-hard":
				s.Low, s.High, s.Malformed = -0.2, 1, -0.2
			}
			envtest.Run(t, s)
		})
	}
}

// solver returns perfect play of an id, nil for the games that luck or a long search decides.
func solver(t *testing.T, registry *env.Registry, id string) func(env.Env) string {
	e, err := registry.Make(id, nil)
	if err != nil {
		t.Fatal(err)
	}
	type solvable interface{ solve() string }
	g, ok := e.(*Game)
	if !ok {
		return nil
	}
	if _, ok := g.rules.(solvable); !ok {
		return nil
	}
	return func(e env.Env) string { return e.(*Game).rules.(solvable).solve() }
}

// TestPlannedPlay: the games that need a search are solved by one, with turns enough for its plan.
func TestPlannedPlay(t *testing.T) {
	registry := newRegistry(t)
	for _, id := range []string{"game:FifteenPuzzle-v0-easy", "game:Sokoban-v0-easy"} {
		t.Run(id, func(t *testing.T) {
			for seed := range uint64(4) {
				e, err := registry.Make(id, env.Params{"max_turns": 200})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := e.Reset(seed); err != nil {
					t.Fatal(err)
				}
				total, last := 0.0, env.Transition{}
				for _, d := range shortest(e.(*Game)) {
					if last, err = e.Step(boxedText(d.String())); err != nil {
						t.Fatal(err)
					}
					total += last.Reward
				}
				if total != 1 || !last.Terminated || last.Truncated {
					t.Errorf("seed %d: the plan ends with %q and a total of %v, want 1", seed, last.Text, total)
				}
			}
		})
	}
}

// shortest finds the fewest moves to the end of a game of directions, breadth first over boards.
func shortest(g *Game) []direction {
	type node struct {
		g    *Game
		path []direction
	}
	seen := map[string]bool{g.shown: true}
	for queue := []node{{g, nil}}; len(queue) > 0; queue = queue[1:] {
		for d := up; d <= right; d++ {
			next := queue[0].g.Fork().(*Game)
			next.turn = 0
			tr, err := next.Step(boxedText(d.String()))
			if err != nil || seen[tr.Suffix] {
				continue
			}
			seen[tr.Suffix] = true
			path := append(slices.Clone(queue[0].path), d)
			if tr.Done() {
				return path
			}
			queue = append(queue, node{next, path})
		}
	}
	return nil
}

// solve bisects what the hints leave.
func (g *guessTheNumber) solve() string {
	lo, hi := g.lo, g.hi
	for _, n := range g.guessed {
		if n < g.secret {
			lo = max(lo, n+1)
		} else {
			hi = min(hi, n-1)
		}
	}
	return boxed((lo + hi) / 2)
}

// solve tries each digit in each place, as the pegs pay for every place once.
func (g *mastermind) solve() string {
	if len(g.guessed) < 1 {
		guess := append([]int{}, g.code...)
		guess[0] = guess[1]
		return boxed(guess...)
	}
	return boxed(g.code...)
}

// solve flags the mines and then reveals the other cells.
func (g *minesweeper) solve() string {
	if !g.laid {
		return move("reveal", 0, 0)
	}
	for at, c := range g.cells {
		if c.mine && !c.flagged {
			return move("flag", at/g.cols, at%g.cols)
		}
	}
	for at, c := range g.cells {
		if !c.revealed && !c.mine {
			return move("reveal", at/g.cols, at%g.cols)
		}
	}
	return move("reveal", 0, 0) // all was revealed before all was flagged, and such a game lasts until its last turn
}

// solve plays the recursion: the smallest disk that is out of place goes where it must once all smaller ones are out of
// its way.
func (g *towerOfHanoi) solve() string {
	at := map[int]int{}
	for i, tower := range g.towers {
		for _, disk := range tower {
			at[disk] = i
		}
	}
	goal, from, to := 2, 0, 0
	for disk := g.disks; disk > 0; disk-- {
		if at[disk] != goal {
			from, to = at[disk], goal
			goal = 3 - from - to // the smaller ones wait on the third tower
		}
	}
	return boxedText("ABC"[from:from+1] + " " + "ABC"[to:to+1])
}

func (g *sudoku) solve() string {
	at := slices.Index(g.cells, 0)
	return boxed(at/g.n+1, at%g.n+1, g.full[at])
}

func (g *wordle) solve() string { return boxedText(g.secret) }

// solve asks for the letters that are left, and then for the word.
func (g *hangman) solve() string {
	for i, known := range g.known {
		if !known {
			return boxedText(g.secret[i : i+1])
		}
	}
	return boxedText(g.secret)
}

func (g *crosswords) solve() string {
	for at, c := range g.grid.cells {
		if c != 0 && !g.filled[at] {
			b := boxed(at/g.grid.side, at%g.grid.side)
			return b[:len(b)-1] + " " + string(rune(c)) + "}"
		}
	}
	return ""
}

func (g *wordSearch) solve() string {
	p := g.grid.placed[slices.Index(g.found, false)]
	row, col := p.cell(len(p.word) - 1)
	return boxed(p.row, p.col, row, col)
}

func move(verb string, row, col int) string {
	b := boxed(row, col)
	return `\boxed{` + verb + " " + b[len(`\boxed{`):]
}

func newRegistry(t testing.TB) *env.Registry {
	t.Helper()
	dir := dataDir()
	if dir == "" {
		dir = "testdata/data" // has only a small wiki.jsonl
	}
	d, err := Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if d.wiki == nil {
		if d.wiki, err = readWiki(os.DirFS("testdata/data")); err != nil {
			t.Fatal(err)
		}
	}
	r, err := env.NewRegistry(Table(d))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
