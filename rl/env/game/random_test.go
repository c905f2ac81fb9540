package game

import (
	"math"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// baselines are the mean return and turns of a random player in upstream, and over how many episodes they were taken
// (200 if 0).
var baselines = []struct {
	id            string
	reward, turns float64
	n             int
}{
	{"game:GuessTheNumber-v0-easy", .775, 3.3, 0}, {"game:GuessTheNumber-v0-hard", .702, 6.7, 0},
	{"game:GuessTheNumber-v0-random", .709, 6.1, 0},
	{"game:Mastermind-v0-easy", .647, 8.4, 0}, {"game:Mastermind-v0-hard", .514, 29.9, 0},
	{"game:Mastermind-v0-random", .596, 18.8, 0},
	{"game:Minesweeper-v0-easy", .628, 7.0, 0}, {"game:Minesweeper-v0-hard", .473, 7.9, 0},
	{"game:Minesweeper-v0-random", .575, 8.2, 0},
	{"game:Wordle-v0-easy", .397, 14.4, 0}, {"game:Wordle-v0-hard", .443, 24.4, 0},
	{"game:Wordle-v0-random", .425, 18.7, 0},
	{"game:FifteenPuzzle-v0-easy", .189, 9.7, 0}, {"game:FifteenPuzzle-v0-hard", .087, 50, 0},
	{"game:Hangman-v0-easy", .140, 9.9, 0}, {"game:Hangman-v0-hard", .258, 19.6, 0},
	{"game:Hangman-v0-random", .207, 14.4, 0},
	{"game:Sudoku-v0-easy", .212, 15, 0}, {"game:Sudoku-v0-hard", .067, 50, 40},
	{"game:Sudoku-v0-random", .137, 34.2, 40},
	{"game:TowerofHanoi-v0-easy", .160, 10, 0}, {"game:TowerofHanoi-v0-hard", .152, 35, 0},
	{"game:TowerofHanoi-v0-random", .178, 21.1, 0},
	{"game:Game2048-v0-easy", .820, 49.3, 0}, {"game:Game2048-v0-hard", .503, 50, 0},
	{"game:Game2048-v0-random", .870, 30.3, 0},
	{"game:Game2048-v0-extreme-hard", .502, 97.1, 0},
	{"game:Sokoban-v0-easy", .228, 19.3, 0}, {"game:Sokoban-v0-hard", .250, 50, 6},
	{"game:Sokoban-v0-random", .183, 45, 6},
	{"game:Crosswords-v0-easy", .079, 30, 0}, {"game:Crosswords-v0-hard", .062, 40, 0},
	{"game:WordSearch-v0-easy", .016, 20, 0}, {"game:WordSearch-v0-hard", .001, 20, 0},
	{"game:WordSearch-v0-random", .010, 20, 0},
}

// TestRandomPlayer: SampleAction plays as well as upstream's random player, within three and a half standard errors of
// the difference. Word games depend on the lists and are compared when upstream's are given.
func TestRandomPlayer(t *testing.T) {
	registry := newRegistry(t)
	for _, want := range baselines {
		t.Run(want.id, func(t *testing.T) {
			t.Parallel()
			spec, err := registry.Spec(want.id)
			if err != nil {
				t.Fatal(err)
			}
			if spec.Needs != "" && dataDir() == "" {
				t.Skip("needs upstream's lists")
			}
			if want.n == 0 {
				want.n = 200
			}
			n := 1000
			if want.n == 6 {
				n = 12 // Sokoban's large rooms
			}
			var reward, turns sample
			for i := range n {
				r, k := randomEpisode(t, registry, want.id, i)
				reward.add(r)
				turns.add(float64(k))
			}
			t.Logf("return %.3f ± %.3f (upstream %.3f), turns %.1f ± %.1f (upstream %.1f), %d episodes",
				reward.mean(), reward.err(n), want.reward, turns.mean(), turns.err(n), want.turns, n)
			if d := math.Abs(reward.mean() - want.reward); d > 3.5*math.Hypot(reward.err(n), reward.err(want.n))+.0006 {
				t.Errorf("the mean return is %.4f, want %.3f", reward.mean(), want.reward)
			}
			if d := math.Abs(turns.mean() - want.turns); d > 3.5*math.Hypot(turns.err(n), turns.err(want.n))+.06 {
				t.Errorf("the mean number of turns is %.2f, want %.1f", turns.mean(), want.turns)
			}
		})
	}
}

func randomEpisode(t *testing.T, registry *env.Registry, id string, i int) (total float64, turns int) {
	e, err := registry.Make(id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(uint64(10000 + i)); err != nil {
		t.Fatal(err)
	}
	player := rng.New(uint64(i)).Stream("random player")
	for {
		tr, err := e.Step(e.SampleAction(&player))
		if err != nil {
			t.Fatal(err)
		}
		total += tr.Reward
		turns++
		if tr.Done() {
			return total, turns
		}
	}
}

// sample sums numbers for their mean and its standard error.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) { s.n++; s.sum += x; s.squares += x * x }

func (s *sample) mean() float64 { return s.sum / s.n }

// err is the standard error of the mean of n such numbers.
func (s *sample) err(n int) float64 {
	return math.Sqrt(max(s.squares/s.n-s.mean()*s.mean(), 0) / float64(n))
}
