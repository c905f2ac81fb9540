package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// drillTurns is when a drill gives up.
const drillTurns = 9

// guessing teaches game:GuessTheNumber-v0-easy and, more often, -hard.
func guessing() (course, error) {
	hint := regexp.MustCompile(`the target number is (higher|lower) than (\d+)`)
	bounds := regexp.MustCompile(`from (\d+) to (\d+)`)
	return course{
		rows: 24_000, drills: 16_000, drill: guessDrill, vocab: 768, shown: 4000, numbers: 60,
		ids: []string{"game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard", "game:GuessTheNumber-v0-hard"},
		good: map[string]teacher{"GuessTheNumber": func(seen string, r *rng.Stream) (string, error) {
			m := bounds.FindStringSubmatch(seen)
			if m == nil {
				return "", fmt.Errorf("gen: no bounds in %q", seen)
			}
			low, high := atoi(m[1]), atoi(m[2])
			for _, m := range hint.FindAllStringSubmatch(seen, -1) {
				if n := atoi(m[2]); m[1] == "higher" {
					low = max(low, n+1)
				} else {
					high = min(high, n-1)
				}
			}
			return fmt.Sprintf(`\boxed{%d}`, low+r.IntN(high-low+1)), nil
		}},
	}, nil
}

// atoi reads digits that an expression matched.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// guessDrill is a whole game in one answer, with guesses and hints in turn, so that one row trains on every guess. The
// player guesses random numbers that the hints allow. From these the model learns what hints mean.
func guessDrill(r *rng.Stream) demo {
	low, high := 1, []int{10, 20, 50, 50}[r.IntN(4)]
	question := fmt.Sprintf("A number from %d to %d (both included) was chosen.", low, high)
	secret := low + r.IntN(high)
	var b strings.Builder
	for turn := 1; turn <= drillTurns; turn++ {
		guess := low + r.IntN(high-low+1)
		fmt.Fprintf(&b, "\\boxed{%d}", guess)
		if guess == secret {
			break
		}
		hint := "higher"
		if guess < secret {
			low = guess + 1
		} else {
			hint, high = "lower", guess-1
		}
		fmt.Fprintf(&b, "\nAt turn %d, you guessed %d, and the target number is %s than %d.\n", turn, guess, hint,
			guess)
	}
	return demo{question, b.String()}
}
