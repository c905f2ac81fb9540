package game

import (
	"fmt"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// mastermind: find a code from the pegs that each guess receives. Each position found for the first time in one guess
// is paid.
type mastermind struct {
	standard
	p       env.Params
	code    []int
	digits  int     // 1 … digits are used
	best    int     // most black pegs so far
	guessed []int32 // the codes that were scored, one after the other
}

func newMastermind(p env.Params) (env.Env, error) {
	if err := check(p, turns, limits{"code_length", 1, 100, true}, limits{"num_numbers", 1, 1 << 20, true},
		limits{"duplicate_numbers", 0, 1, false}); err != nil {
		return nil, err
	}
	if p["code_length"] > p["num_numbers"] && p["num_numbers"] != env.Drawn {
		return nil, fmt.Errorf("code_length is %d; it must not exceed num_numbers, %d", p["code_length"],
			p["num_numbers"])
	}
	g := newGame(&mastermind{p: p})
	g.mute = true
	return g, nil
}

func (g *mastermind) deal(_ uint64, r *python.Random) (int, string, error) {
	length, limit := g.p["code_length"], g.p["max_turns"]
	g.digits = g.p["num_numbers"]
	if anyDrawn(g.p, "code_length", "num_numbers", "max_turns") {
		level := [3][3]int{{2, 4, 10}, {4, 6, 20}, {4, 8, 30}}[r.Below(3)]
		length, g.digits, limit = level[0], level[1], level[2]
	}
	duplicates := "never"
	if g.p["duplicate_numbers"] == 1 {
		duplicates = "may"
		g.code = r.Choices(g.digits, length)
	} else {
		g.code = r.Sample(g.digits, length)
	}
	example := r.Sample(g.digits, length)
	for i := range g.code {
		g.code[i]++
		example[i]++
	}
	g.best, g.guessed = 0, g.guessed[:0]
	return limit, fmt.Sprintf(`You are playing Mastermind.
Find the secret code of %d digits within %d turns.
Its digits are from 1 to %d (both included) and %s repeat.
Each guess is answered with pegs: a black one for each right digit in its right place, a white one for each right `+
		`digit in a wrong place.
You may think aloud, but only what is inside \boxed{...} counts as your guess: the digits separated by spaces, for `+
		`example %s.
Your guesses and their pegs will be listed below.
Enter your first guess to start the game.
`, length, limit, g.digits, duplicates, boxed(example...)), nil
}

func (g *mastermind) play(t *turn, action string) {
	var room [8]number
	guess, found := room[:0], false
	for c := moves(action); !found && c.next(); {
		guess, found = c.list(room[:0])
	}
	if !found {
		t.malform().at().say("you did not provide a valid guess.")
		return
	}
	var values [8]int
	digits := values[:0]
	for _, n := range guess {
		digits = append(digits, n.value)
	}
	if slices.Equal(digits, g.code) {
		t.win(float64(len(g.code)-g.best) / float64(len(g.code)))
		sayList(t.say("Congratulations! You guessed the correct code "), guess).say(" in ").num(t.number).say(" turns.")
		return
	}
	sayList(t.at().say("you guessed "), guess)
	switch {
	case len(digits) != len(g.code):
		t.say(" which has ").num(len(digits)).say(" entries but the code has length ").num(len(g.code)).say(".")
	case slices.Min(digits) < 1 || slices.Max(digits) > g.digits:
		t.say(", which has numbers outside the range 1 to ").num(g.digits).say(".")
	case g.before(digits):
		t.say(", which has been already guessed before.")
	default:
		for _, d := range digits {
			g.guessed = append(g.guessed, int32(d)) // at most g.digits
		}
		g.score(t, digits)
	}
}

func (g *mastermind) score(t *turn, digits []int) {
	black, white := pegs(g.code, digits)
	t.say(". This guess receives ").num(black).say(" black peg(s) and ").num(white).say(" white peg(s).")
	if black > g.best {
		t.reward = float64(black-g.best) / float64(len(g.code))
		g.best = black
	}
}

// before reports whether a code was scored already.
func (g *mastermind) before(digits []int) bool {
	for at := 0; at < len(g.guessed); at += len(digits) {
		i := 0
		for i < len(digits) && int(g.guessed[at+i]) == digits[i] {
			i++
		}
		if i == len(digits) {
			return true
		}
	}
	return false
}

// pegs counts equal digits in equal places, and of the others the pairs of equal digits.
func pegs(code, guess []int) (black, white int) {
	common := 0
	for i, d := range guess {
		if d == code[i] {
			black++
		}
		if slices.Index(code, d) >= 0 && slices.Index(guess, d) == i { // each digit once
			common += min(count(code, d), count(guess, d))
		}
	}
	return black, common - black
}

func count(digits []int, d int) (n int) {
	for _, e := range digits {
		if e == d {
			n++
		}
	}
	return n
}

// list appends numbers separated by white space to all, and takes the closing brace.
func (c *cursor) list(all []number) ([]number, bool) {
	for {
		n, ok := c.number()
		if !ok {
			return all, false
		}
		if all = append(all, n); c.close() {
			return all, true
		}
		if c.spaces() == 0 {
			return all, false
		}
	}
}

// sayList writes numbers as a Python list.
func sayList(t *turn, all []number) *turn {
	for i, n := range all {
		if i == 0 {
			t.say("[")
		} else {
			t.say(", ")
		}
		t.say(n.text)
	}
	return t.say("]")
}

func (*mastermind) suffix(b []byte) []byte { return append(b, "Enter your guess."...) }

func (g *mastermind) fork() rules {
	c := *g
	c.code, c.guessed = slices.Clone(g.code), slices.Clone(g.guessed)
	return &c
}

func (g *mastermind) sample(s env.Draws) string {
	guess := make([]int, len(g.code))
	for i := range guess {
		guess[i] = 1 + s.IntN(g.digits)
	}
	return boxed(guess...)
}
