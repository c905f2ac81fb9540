package game

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// hangman: find a word by its letters. Half of the reward is for letters, half for the word, which must be said even
// when all of its letters are known; letters not known by then are paid with it.
type hangman struct {
	standard
	p       env.Params
	basic   *lexicon
	english *lexicon
	pool    []string
	secret  string   // upper case
	known   []bool   // places
	guessed [26]bool // letters
}

func newHangman(basic, english *lexicon) func(env.Params) (env.Env, error) {
	return func(p env.Params) (env.Env, error) {
		if err := check(p, turns, limits{"word_length", 1, 100, true}, limits{"hardcore", 0, 1, false}); err != nil {
			return nil, err
		}
		g := &hangman{p: p, basic: basic, english: english}
		return newGame(g), g.lexicon().check(p["word_length"], 3, 5, 7)
	}
}

func (g *hangman) lexicon() *lexicon {
	if g.p["hardcore"] == 1 {
		return g.english
	}
	return g.basic
}

func (g *hangman) deal(_ uint64, r *python.Random) (int, string, error) {
	length, limit := g.p["word_length"], g.p["max_turns"]
	if anyDrawn(g.p, "word_length", "max_turns") {
		level := [3][2]int{{3, 10}, {5, 15}, {7, 20}}[r.Below(3)]
		length, limit = level[0], level[1]
	}
	g.pool = g.lexicon().ofLength(length)
	g.secret = strings.ToUpper(g.pool[r.Below(len(g.pool))])
	g.known, g.guessed = make([]bool, length), [26]bool{}
	word := strings.ToUpper(g.pool[r.Below(len(g.pool))])
	letter := 'A' + r.Below(26)
	return limit, fmt.Sprintf(`You are playing Hangman.
Find the %d-letter word by guessing letters, or the whole word.
A letter that is not known yet is shown as `+"`_`"+`.

You may think aloud, but only what is inside \boxed{} counts: a letter such as \boxed{%c}, or the entire word such `+
		`as \boxed{%s}.
A letter that is in the word is shown wherever it stands.
You win by guessing the word.
Your guesses will be listed below.
Some rules:
1. You can only guess one letter or one word at a time.
2. You have to win within %d turns.

`, length, letter, word, limit), nil
}

func (g *hangman) play(t *turn, action string) {
	guess, found := "", false
	for c := moves(strings.ToLower(action)); !found && c.next(); {
		guess = c.letters()
		found = guess != "" && c.close()
	}
	if !found {
		t.malform().say("You did not provide a valid guess.")
		return
	}
	guess = strings.ToUpper(guess)
	switch {
	case len(guess) == 1:
		g.letter(t, guess)
	case guess == g.secret:
		hidden := 0
		for _, known := range g.known {
			if !known {
				hidden++
			}
		}
		t.win(0.5 + float64(0.5*(float64(hidden)/float64(len(g.secret)))))
		t.say("Congratulations! You guessed the word '").say(guess).say("' correctly!")
	case len(guess) != len(g.secret):
		t.at().say("You guessed '").say(guess).say("' which is of length ").num(len(guess))
		t.say(", but the secret word is of length ").num(len(g.secret)).say(".")
	default:
		t.at().say("You guessed '").say(guess).say("' which is incorrect.")
	}
}

func (g *hangman) letter(t *turn, letter string) {
	i := letter[0] - 'A'
	if g.guessed[i] {
		t.at().say("you guessed '").say(letter).say("', which has been already guessed before.")
		return
	}
	g.guessed[i] = true
	hits := 0
	for at := range g.known {
		if g.secret[at] == letter[0] {
			g.known[at] = true
			hits++
		}
	}
	if hits == 0 {
		t.at().say("you guessed a letter '").say(letter).say("' that is not in the secret word.")
		return
	}
	t.moved = true
	t.reward = 0.5 * (float64(hits) / float64(len(g.secret)))
	t.at().say("you successfully guessed a letter '").say(letter).say("' that is in the secret word.")
}

func (g *hangman) suffix(b []byte) []byte {
	b = append(b, "Here is the current state of the Hangman grid:\n"...)
	for i := range g.known {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, 'C', '0'+byte(i/10), '0'+byte(i%10))
	}
	b = append(b, '\n')
	for i, known := range g.known {
		c := byte('_')
		if known {
			c = g.secret[i]
		}
		b = append(b, ' ', ' ', c, ' ')
	}
	return append(b, "\n\nEnter your guess."...)
}

func (g *hangman) fork() rules {
	c := *g
	c.known = slices.Clone(g.known)
	return &c
}

func (g *hangman) sample(s env.Draws) string {
	if s.IntN(5) > 0 {
		return boxedText(string(rune('a' + s.IntN(26))))
	}
	return boxedText(g.pool[s.IntN(len(g.pool))])
}
