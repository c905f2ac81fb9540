package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/env/game"
	"github.com/seed-d9ad8ee0/trinity/rng"
)

const (
	// demoRows is how many rows guess-demos writes, and drillRows how many of them, the first, are drills.
	demoRows  = 24_000
	drillRows = 16_000
	// drillTurns is when a drill gives up.
	drillTurns = 9
	// guessVocab is the number of rows of the guessing model's embedding.
	guessVocab = 768
	// guessGames is how many games of each kind the tokenizer is trained on.
	guessGames = 400
	// numbersSplit keeps numbers of up to three digits whole, as Llama 3 does.
	numbersSplit = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// guessIDs are the games the model is shown, the second more often.
var guessIDs = []string{"game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard", "game:GuessTheNumber-v0-hard"}

// A demo is one turn: what a player sees and what one said.
type demo struct {
	Question string `json:"question"`
	Response string `json:"response"`
}

// writeGuessModel writes the model folder's files but the weights, which the run of guess/sft.yaml makes.
func writeGuessModel(o options) error {
	tokenizer, err := guessTokenizer(o.seed)
	if err != nil {
		return err
	}
	return writeFolder(o.out, tokenizer, shape{layers: 3, inner: 256, context: 2048})
}

// guessTokenizer is trained on random play, with every number up to 60 a token of its own.
func guessTokenizer(seed uint64) (map[string]any, error) {
	split := regexp.MustCompile(strings.Replace(numbersSplit, `|\s+(?!\S)`, "", 1))
	counts := map[string]int{}
	next, err := demos(seed)
	if err != nil {
		return nil, err
	}
	for range guessGames * 10 {
		d, err := next()
		if err != nil {
			return nil, err
		}
		for _, text := range []string{"user\n", "assistant\n", d.Question, d.Response} {
			for _, t := range split.FindAllString(text, -1) {
				counts[t]++
			}
		}
	}
	for n := 1; n <= 60; n++ {
		counts[fmt.Sprint(n)] += guessGames * 10
	}
	added := []addedToken{{Content: "<|endoftext|>", Special: true}, {Content: "<|im_start|>", Special: true}, {Content: "<|im_end|>", Special: true}}
	return trainTokenizer(counts, guessVocab, numbersSplit, added), nil
}

// writeDemos writes drills and then turns as train.jsonl.
func writeDemos(o options) error {
	next, err := demos(o.seed)
	if err != nil {
		return err
	}
	drills := rng.New(o.seed).Stream("drills")
	row := 0
	var failed error
	err = writeRows(filepath.Join(o.out, "train.jsonl"), cmp.Or(o.rows, demoRows), func() demo {
		if row++; row <= drillRows {
			return drill(&drills)
		}
		d, err := next()
		failed = cmp.Or(failed, err)
		return d
	})
	return cmp.Or(failed, err)
}

// drill is a whole game in one answer, the guesses and what the game says to them in turn, so that every guess of it is learned
// from at once. Its player guesses any number that the hints allow: there the model learns what hints mean.
func drill(r *rng.Stream) demo {
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
		fmt.Fprintf(&b, "\nAt turn %d, you guessed %d, and the target number is %s than %d.\n", turn, guess, hint, guess)
	}
	return demo{question, b.String()}
}

// demos plays game after game and returns its turns one by one. A player guesses anything half of the time, and otherwise a
// number that the hints allow.
func demos(seed uint64) (func() (demo, error), error) {
	words, err := game.Shipped()
	if err != nil {
		return nil, err
	}
	registry, err := env.NewRegistry(game.Table(words))
	if err != nil {
		return nil, err
	}
	r := rng.New(seed).Stream("demonstrations")
	var turns []demo
	return func() (demo, error) {
		for len(turns) == 0 {
			if turns, err = playDemo(registry, guessIDs[r.IntN(len(guessIDs))], &r); err != nil {
				return demo{}, err
			}
		}
		d := turns[0]
		turns = turns[1:]
		return d, nil
	}, nil
}

// playDemo plays one game to its end.
func playDemo(registry *env.Registry, id string, r *rng.Stream) ([]demo, error) {
	spec, err := registry.Spec(id)
	if err != nil {
		return nil, err
	}
	bare, err := registry.Make(id, nil)
	if err != nil {
		return nil, err
	}
	e := env.NewHistory(bare, env.HistoryOptions{})
	o, err := e.Reset(r.Uint64())
	if err != nil {
		return nil, err
	}
	var turns []demo
	lo, hi := spec.Params["min_number"], spec.Params["max_number"]
	for low, high := lo, hi; ; {
		from, to := lo, hi
		if r.IntN(2) == 0 {
			from, to = low, high
		}
		guess := from + r.IntN(to-from+1)
		action := fmt.Sprintf(`\boxed{%d}`, guess)
		turns = append(turns, demo{env.Message(env.GameTemplate, o.Text), action})
		t, err := e.Step(action)
		if err != nil || t.Done() {
			return turns, err
		}
		if hint := t.Text[strings.LastIndex(t.Text, "At turn"):]; strings.Contains(hint, "higher") {
			low = max(low, guess+1)
		} else if strings.Contains(hint, "lower") {
			high = min(high, guess-1)
		}
		o = t.Observation
	}
}
