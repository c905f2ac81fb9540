// Package game holds the text games of GEM (Liu et al., arXiv 2510.01051; github.com/axon-rl/gem): the same ids, rules,
// rewards and, for the same seed, the same episodes. The tasks are told in our own words; the answers of the games and
// the boards in the suffixes are upstream's, letter by letter. Table is the list of ids.
//
// A complete and faultless episode has a total reward of 1. An answer in which a game finds no move costs 0.1 and ends
// the episode; a move that is not allowed costs a turn. When the turns run out the episode is both terminated and
// truncated.
package game

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/rng/python"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// rules are a game without what all games share: turns, their limit, and the price of an answer without a move.
type rules interface {
	// deal begins an episode. It draws from r in upstream's order and returns the limit of turns and the task.
	deal(seed uint64, r *python.Random) (limit int, task string, err error)

	// play answers an action.
	play(t *turn, action string)

	// timeout changes the answer to the last turn that was possible.
	timeout(t *turn)

	// suffix appends the present board and a request to continue.
	suffix(b []byte) []byte

	// fork returns an independent copy.
	fork() rules

	// sample draws a well-formed action.
	sample(s env.Draws) string
}

// formatReward is the reward of an answer in which no move was found.
const formatReward = -0.1

// turn is the answer to an action in the making.
type turn struct {
	number, limit int // this turn's, from 1, and the last one's
	random        *python.Random

	text      []byte
	reward    float64
	moved     bool // the board changed
	over      bool // the game is won or lost
	malformed bool // no move was found
}

// at begins the text with the number of the turn.
func (t *turn) at() *turn { return t.say("At turn ").num(t.number).say(", ") }

// say appends text.
func (t *turn) say(s string) *turn { t.text = append(t.text, s...); return t }

// num appends a number.
func (t *turn) num(n int) *turn { t.text = appendRight(t.text, n, 1); return t }

// malform says that no move was found; the text follows.
func (t *turn) malform() *turn { t.malformed, t.reward = true, formatReward; return t }

// win ends the game; the text follows.
func (t *turn) win(reward float64) *turn { t.over, t.reward = true, reward; return t }

// standard is how most games end when the turns run out: the reward of the last move stays.
type standard struct{}

func (standard) timeout(t *turn) {
	t.text = append(t.text[:0], "You have reached the maximum number of turns."...)
}

// Game is one of the games of this package as an env.Env.
type Game struct {
	rules   rules
	random  python.Random
	turn    int
	limit   int
	playing bool
	mute    bool // no suffix at Reset

	answer turn   // to the present action; kept for its memory
	board  []byte // the suffix, likewise
	shown  string // the last suffix
	paper  paper
}

func newGame(r rules) *Game { return &Game{rules: r} }

// Reset begins an episode.
func (g *Game) Reset(seed uint64) (env.Observation, error) {
	g.random.Seed(seed)
	limit, task, err := g.rules.deal(seed, &g.random)
	if err != nil {
		g.playing = false
		return env.Observation{}, fmt.Errorf("game: seed %d: %w", seed, err)
	}
	g.limit, g.turn, g.playing = limit, 0, true
	o := env.Observation{Text: task}
	g.show()
	if !g.mute {
		o.Suffix = g.shown
	}
	return o, nil
}

// Step plays an action.
func (g *Game) Step(action string) (env.Transition, error) {
	if !g.playing {
		return env.Transition{}, env.ErrOver
	}
	g.turn++
	t := &g.answer
	if t.number, t.limit = g.turn, g.limit; t.random == nil {
		t.random = &g.random
	}
	t.text, t.reward, t.moved, t.over, t.malformed = t.text[:0], 0, false, false, false
	g.rules.play(t, action)
	late := g.turn >= g.limit && !t.over
	if late && !t.malformed {
		g.rules.timeout(t)
	}
	g.playing = !t.over && !t.malformed && !late
	if t.moved {
		g.show()
	}
	return env.Transition{
		Observation: env.Observation{Text: g.paper.write(t.text), Suffix: g.shown},
		Reward:      t.reward, Terminated: !g.playing, Truncated: late,
	}, nil
}

// Fork copies the game.
func (g *Game) Fork() env.Env {
	c := *g
	c.rules, c.answer, c.board, c.paper = g.rules.fork(), turn{}, nil, paper{}
	return &c
}

// SampleAction draws from the well-formed actions.
func (g *Game) SampleAction(s env.Draws) string { return g.rules.sample(s) }

// show writes the suffix.
func (g *Game) show() {
	g.board = g.rules.suffix(g.board[:0])
	g.shown = g.paper.write(g.board)
}
