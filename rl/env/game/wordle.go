package game

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// wordle: find a word from the marks of its letters. Half of the reward is for places found for the first time, half
// for the word.
type wordle struct {
	standard
	p       env.Params
	words   *lexicon
	pool    []string
	secret  string // upper case
	guessed []string
	found   []bool // places that were green
}

func newWordle(words *lexicon) func(env.Params) (env.Env, error) {
	return func(p env.Params) (env.Env, error) {
		if err := check(p, turns, limits{"word_length", 1, 100, true},
			limits{"only_real_words", 0, 1, false}); err != nil {
			return nil, err
		}
		return newGame(&wordle{p: p, words: words}), words.check(p["word_length"], 3, 4, 5)
	}
}

func (g *wordle) deal(_ uint64, r *python.Random) (int, string, error) {
	length, limit := g.p["word_length"], g.p["max_turns"]
	if anyDrawn(g.p, "word_length", "max_turns") {
		length = r.Int(3, 5)
		limit = 5 * length
	}
	g.pool = g.words.ofLength(length)
	g.secret = strings.ToUpper(g.pool[r.Below(len(g.pool))])
	g.guessed, g.found = g.guessed[:0], make([]bool, length)
	return limit, fmt.Sprintf(`You are playing Wordle.
Find the secret word of %d letters within %d turns.
Each guess is marked letter by letter:
  - G (green): the letter is in the word, at this place
  - Y (yellow): the letter is in the word, at another place
  - X (wrong): the letter is not in the word
You may think aloud, but only the word inside \boxed{...} counts as your guess, for example %s.
Your guesses and their marks will be listed below.
`, length, limit, boxedText(strings.ToUpper(g.pool[r.Below(len(g.pool))]))), nil
}

func (g *wordle) play(t *turn, action string) {
	guess, found := "", false
	for c := moves(action); !found && c.next(); {
		guess, found = c.words()
	}
	if !found {
		t.malform().at().say("you did not provide a valid guess.")
		return
	}
	guess = strings.ReplaceAll(strings.ToUpper(guess), " ", "")
	if length := utf8.RuneCountInString(guess); length != len(g.secret) {
		t.at().say("you guessed ").say(guess).say(" which has ").num(length)
		t.say(" letters but the secret word has ").num(len(g.secret)).say(" letters.")
		return
	}
	if slices.Contains(g.guessed, guess) {
		t.at().say("you guessed ").say(guess).say(", which has been already guessed before.")
		return
	}
	g.guessed = append(g.guessed, guess)
	var room [16]byte
	marks := marking(room[:0], g.secret, guess)
	for i, m := range marks {
		if m == 'G' && !g.found[i] {
			g.found[i] = true
			t.reward += 0.5 / float64(len(g.secret))
		}
	}
	if guess == g.secret {
		t.win(t.reward + 0.5).say("Congratulations! You guessed the secret word ").say(guess).say(" in ").num(
			t.number).say(" turns.")
		return
	}
	t.at().say("you guessed ").say(guess).say("\nFeedback:\n").say(guess).say("\n[")
	for i, m := range marks {
		if i > 0 {
			t.say(", ")
		}
		t.text = append(t.text, '\'', m, '\'')
	}
	t.say("]")
}

// words takes words of letters separated by white space, and the closing brace.
func (c *cursor) words() (string, bool) {
	for start := c.at; c.letters() != ""; {
		text := c.text[start:c.at]
		if c.close() {
			return text, true
		}
		if c.spaces() == 0 {
			break
		}
	}
	return "", false
}

// marking gives each letter of guess its mark. Each letter of secret, which has the same number of runes, answers for
// one of guess: first those in the same place, then from the left. It appends to marks.
func marking(marks []byte, secret, guess string) []byte {
	var room [16]byte
	left := append(room[:0], secret...)
	i := 0
	for _, l := range guess {
		mark := byte('X')
		if rune(secret[i]) == l {
			mark, left[i] = 'G', 0
		}
		marks = append(marks, mark)
		i++
	}
	i = -1
	for _, l := range guess {
		if i++; marks[i] == 'G' || l >= utf8.RuneSelf {
			continue
		}
		if at := slices.Index(left, byte(l)); at >= 0 {
			marks[i], left[at] = 'Y', 0
		}
	}
	return marks
}

func (*wordle) suffix(b []byte) []byte { return append(b, "Enter your guess."...) }

func (g *wordle) fork() rules {
	c := *g
	c.guessed, c.found = slices.Clone(g.guessed), slices.Clone(g.found)
	return &c
}

func (g *wordle) sample(s env.Draws) string { return boxedText(g.pool[s.IntN(len(g.pool))]) }
