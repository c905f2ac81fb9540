package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/game"
)

// numbersSplit keeps numbers of up to three digits whole, as Llama 3 does.
const numbersSplit = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|` +
	`\s*[\r\n]+|\s+(?!\S)|\s+`

// A course is the training data of a model for games: first drills, then turns as a player sees them.
type course struct {
	rows, drills int                      // rows of both kinds, and how many of them, the first, are drills
	drill        func(r *rng.Stream) demo // one drill
	ids          []string                 // the games of the turns, each drawn as often as it stands here
	good         map[string]teacher       // by the name of a game
	vocab        int                      // rows of the model's embedding
	shown        int                      // turns that the tokenizer is trained on
	numbers      int                      // the tokenizer has a token for each number up to this
}

// A teacher makes a good move for what a player sees.
type teacher func(seen string, r *rng.Stream) (string, error)

// A demo is one turn: what a player sees and what one said.
type demo struct {
	Question string `json:"question"`
	Response string `json:"response"`
}

// demosOf writes the rows of a course.
func demosOf(of func() (course, error)) func(options) error {
	return func(o options) error {
		c, err := of()
		if err != nil {
			return err
		}
		return c.write(o)
	}
}

// tokenizer is trained on what the course's turns show and say.
func (c course) tokenizer(seed uint64) (map[string]any, error) {
	split := regexp.MustCompile(strings.Replace(numbersSplit, `|\s+(?!\S)`, "", 1))
	counts := map[string]int{}
	next, err := c.turns(seed)
	if err != nil {
		return nil, err
	}
	for range c.shown {
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
	for n := 1; n <= c.numbers; n++ {
		counts[fmt.Sprint(n)] += c.shown
	}
	added := []addedToken{{Content: "<|endoftext|>", Special: true}, {Content: "<|im_start|>", Special: true},
		{Content: "<|im_end|>", Special: true}}
	return trainTokenizer(counts, c.vocab, numbersSplit, added), nil
}

// write writes drills and then turns as train.jsonl.
func (c course) write(o options) error {
	next, err := c.turns(o.seed)
	if err != nil {
		return err
	}
	drills := rng.New(o.seed).Stream("drills")
	row := 0
	var failed error
	err = writeRows(filepath.Join(o.out, "train.jsonl"), cmp.Or(o.rows, c.rows), func() demo {
		if row++; row <= c.drills {
			return c.drill(&drills)
		}
		d, err := next()
		failed = cmp.Or(failed, err)
		return d
	})
	return cmp.Or(failed, err)
}

// turns plays game after game and returns the turns one by one. Half of the moves are random, the others are good.
func (c course) turns(seed uint64) (func() (demo, error), error) {
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
			if turns, err = c.play(registry, c.ids[r.IntN(len(c.ids))], &r); err != nil {
				return demo{}, err
			}
		}
		d := turns[0]
		turns = turns[1:]
		return d, nil
	}, nil
}

// play plays one game to its end.
func (c course) play(registry *env.Registry, id string, r *rng.Stream) ([]demo, error) {
	bare, err := registry.Make(id, nil)
	if err != nil {
		return nil, err
	}
	e := env.NewHistory(bare, env.HistoryOptions{})
	o, err := e.Reset(r.Uint64())
	if err != nil {
		return nil, err
	}
	good := c.good[gameName(id)]
	var turns []demo
	for {
		var action string
		if r.IntN(2) == 0 {
			action, err = good(o.Text, r)
		} else {
			action = e.SampleAction(r)
		}
		if err != nil {
			return nil, err
		}
		turns = append(turns, demo{env.Message(env.GameTemplate, o.Text), action})
		t, err := e.Step(action)
		if err != nil || t.Done() {
			return turns, err
		}
		o = t.Observation
	}
}

// gameName is the name in an id such as game:Sudoku-v0-easy.
func gameName(id string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(id, "game:"), "-")
	return name
}

// choose draws one of several.
func choose[T any](r *rng.Stream, from []T) T { return from[r.IntN(len(from))] }
