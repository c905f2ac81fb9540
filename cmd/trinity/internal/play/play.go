// Package play plays an episode of an environment in a terminal: a person, a model or the random player.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
)

// Game is a game that remembers its last observation, before wrappers change it for the player.
type Game struct {
	*env.Tracker
	said env.Observation
}

// Reset begins an episode.
func (g *Game) Reset(seed uint64) (env.Observation, error) {
	o, err := g.Tracker.Reset(seed)
	g.said = o
	return o, err
}

// Step plays an action.
func (g *Game) Step(action string) (env.Transition, error) {
	t, err := g.Tracker.Step(action)
	g.said = t.Observation
	return t, err
}

// New is a player of a game, which sees it as it is.
func New(e env.Env, out io.Writer) *Player {
	g := &Game{Tracker: env.NewTracker(e)}
	return &Player{Game: g, Seen: g, Out: out}
}

// Player plays an episode turn by turn and prints it.
type Player struct {
	Game   *Game
	Seen   env.Env // the game as the player sees it
	Out    io.Writer
	Answer func(o env.Observation) (string, error) // the next action; io.EOF leaves the game
}

// Play plays the episode of a seed to its end, or until there are no more actions or ctx ends.
func (p *Player) Play(ctx context.Context, seed uint64) error {
	err := p.turns(ctx, seed)
	if errors.Is(err, io.EOF) || err != nil && ctx.Err() != nil {
		fmt.Fprintf(p.Out, "\nleft after %d turns with a return of %.3f\n", p.Game.Steps(), p.Game.Return())
		return nil
	}
	return err
}

func (p *Player) turns(ctx context.Context, seed uint64) error {
	o, err := p.Seen.Reset(seed)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		p.show(p.Game.said)
		fmt.Fprint(p.Out, "> ")
		action, err := p.Answer(o)
		if err != nil {
			return err
		}
		t, err := p.Seen.Step(action)
		if err != nil {
			return err
		}
		if t.Done() {
			fmt.Fprintf(p.Out, "\n%s\n(reward %.3f)\nthe end after %d turns with a return of %.3f\n",
				strings.TrimRight(p.Game.said.Text, "\n"), t.Reward, p.Game.Steps(), p.Game.Return())
			return nil
		}
		fmt.Fprintf(p.Out, "(reward %.3f)\n", t.Reward)
		o = t.Observation
	}
	return ctx.Err()
}

// show prints an observation and the board.
func (p *Player) show(o env.Observation) {
	fmt.Fprintf(p.Out, "\n%s%s\n", foreign.Plain(o.Prefix), foreign.Plain(strings.TrimRight(o.Text, "\n")))
	if o.Suffix != "" {
		fmt.Fprintln(p.Out, foreign.Plain(strings.TrimRight(o.Suffix, "\n")))
	}
}

// ByHand reads actions line by line, until there are no more or ctx ends.
func ByHand(ctx context.Context, lines <-chan string) func(env.Observation) (string, error) {
	return func(env.Observation) (string, error) {
		select {
		case line, more := <-lines:
			if !more {
				return "", io.EOF
			}
			line = strings.TrimSpace(line)
			if !strings.Contains(line, `\boxed`) {
				line = `\boxed{` + line + `}`
			}
			return line, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// AtRandom draws actions and prints them.
func (p *Player) AtRandom(seed uint64) func(env.Observation) (string, error) {
	chance := rng.New(seed).Stream("random player")
	return func(env.Observation) (string, error) {
		action := p.Game.SampleAction(&chance)
		fmt.Fprintln(p.Out, action)
		return action, nil
	}
}
