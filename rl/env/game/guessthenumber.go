package game

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// guessTheNumber: find a number from hints. When the turns run out the reward is how near the last guess came.
type guessTheNumber struct {
	p       env.Params
	lo, hi  int
	secret  int
	last    int   // the last number that was guessed
	guessed []int // those in range
}

func newGuessTheNumber(p env.Params) (env.Env, error) {
	drawn := p["min_number"] == env.Drawn || p["max_number"] == env.Drawn
	if !drawn && p["min_number"] >= p["max_number"] {
		return nil, errors.New("min_number must be less than max_number")
	}
	return newGame(&guessTheNumber{p: p}), check(p, turns, limits{"min_number", 0, 1 << 30, true},
		limits{"max_number", 0, 1 << 30, true})
}

func (g *guessTheNumber) deal(_ uint64, r *python.Random) (int, string, error) {
	limit := g.p["max_turns"]
	g.lo, g.hi = g.p["min_number"], g.p["max_number"]
	drawn := g.lo == env.Drawn || g.hi == env.Drawn
	if drawn {
		g.lo = r.Int(1, 10)
		g.hi = r.Int(g.lo+5, g.lo+50)
	}
	if drawn || limit == env.Drawn {
		limit = int(math.Ceil(math.Sqrt(float64(g.hi-g.lo)))) + 1
	}
	g.secret = r.Int(g.lo, g.hi)
	g.last, g.guessed = 0, g.guessed[:0]
	return limit, fmt.Sprintf(`You are playing Guess The Number.
A number from %d to %d (both included) was chosen. Find it within %d turns.
After each wrong guess you are told whether the target number is 'higher' or 'lower'.
You may think aloud, but only the number inside \boxed{} counts as your guess, for example \boxed{%d}.
Your guesses and the hints will be listed below.
Enter your first guess to start the game.
`, g.lo, g.hi, limit, r.Int(g.lo, g.hi)), nil
}

func (g *guessTheNumber) play(t *turn, action string) {
	var guess number
	found := false
	for c := moves(action); !found && c.next(); {
		guess, found = c.number()
		found = found && c.close()
	}
	if !found || guess.value == 0 { // upstream takes 0 for no guess
		t.malform().at().say("you did not provide a valid guess.")
		return
	}
	n := guess.value
	g.last = n
	if n == g.secret {
		t.win(1).say("Congratulations! You guessed the correct number ").num(n).say(" in ").num(t.number).say(" turns.")
		return
	}
	t.at().say("you guessed ").say(guess.text)
	switch {
	case n < g.lo || n > g.hi:
		t.say(", which is outside the range specified.")
		return
	case slices.Contains(g.guessed, n):
		t.say(", which has been already guessed before.")
		return
	case n < g.secret:
		t.say(", and the target number is higher than ")
	default:
		t.say(", and the target number is lower than ")
	}
	t.num(n).say(".")
	g.guessed = append(g.guessed, n)
}

func (g *guessTheNumber) timeout(t *turn) {
	standard{}.timeout(t)
	t.reward = 0
	if g.lo <= g.last && g.last <= g.hi {
		t.reward = 1 - math.Abs(float64(g.last-g.secret))/float64(g.hi-g.lo)
	}
}

func (g *guessTheNumber) suffix(b []byte) []byte { return append(b, "Enter your next guess."...) }

func (g *guessTheNumber) fork() rules {
	c := *g
	c.guessed = slices.Clone(g.guessed)
	return &c
}

func (g *guessTheNumber) sample(s env.Draws) string {
	return boxed(g.lo + s.IntN(g.hi-g.lo+1))
}
