package game

import (
	"testing"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/env/envtest"
)

// TestSuite runs the suite over every id.
func TestSuite(t *testing.T) {
	registry := newRegistry(t)
	for _, spec := range registry.Specs() {
		t.Run(spec.ID, func(t *testing.T) {
			t.Parallel()
			envtest.Run(t, envtest.Suite{
				Make:  func() (env.Env, error) { return registry.Make(spec.ID, nil) },
				Solve: solver(t, registry, spec.ID),
			})
		})
	}
}

// solver returns perfect play of an id, nil for the games that luck decides.
func solver(t *testing.T, registry *env.Registry, id string) func(env.Env) string {
	e, err := registry.Make(id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := e.(*Game).rules.(interface{ solve() string }); !ok {
		return nil
	}
	return func(e env.Env) string { return e.(*Game).rules.(interface{ solve() string }).solve() }
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
	return move("reveal", 0, 0) // all was revealed before all was flagged, and such a game goes on to its last turn
}

func move(verb string, row, col int) string {
	b := boxed(row, col)
	return `\boxed{` + verb + " " + b[len(`\boxed{`):]
}

func newRegistry(t testing.TB) *env.Registry {
	r, err := env.NewRegistry(Table())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
