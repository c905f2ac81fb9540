package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/env"
	"github.com/seed-d9ad8ee0/trinity/rng"
)

type gemPlayCmd struct {
	gemData
	ID     string   `arg:"" name:"env_id" help:"The environment; trinity gem list names all."`
	Pairs  []string `arg:"" optional:"" name:"key=value" help:"Parameters other than those of the id, such as max_turns=50."`
	Seed   uint64   `default:"0" help:"The episode."`
	Random bool     `help:"Let the random player play."`
}

// Run implements the command.
func (c *gemPlayCmd) Run(s *surroundings) error {
	registry, err := c.registry()
	if err != nil {
		return err
	}
	params, err := envParams(c.Pairs)
	if err != nil {
		return usageError{err}
	}
	e, err := registry.Make(c.ID, params)
	if err != nil {
		return usageError{err}
	}
	p := player{game: env.NewTracker(e), out: s.out, lines: bufio.NewScanner(os.Stdin), random: c.Random}
	p.chance = rng.New(c.Seed).Stream("random player")
	return p.play(c.Seed)
}

// envParams reads parameters of an environment.
func envParams(pairs []string) (env.Params, error) {
	params := env.Params{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		n, err := strconv.Atoi(value)
		if value == "drawn" {
			n, err = env.Drawn, nil
		}
		if !ok || err != nil {
			return nil, fmt.Errorf("%q is no parameter; write a name, = and a whole number or drawn, such as max_turns=50", pair)
		}
		params[key] = n
	}
	return params, nil
}

// player plays an episode line by line.
type player struct {
	game   *env.Tracker
	out    io.Writer
	lines  *bufio.Scanner
	random bool
	chance rng.Stream
}

// play plays the episode of a seed to its end, or until there are no more lines.
func (p *player) play(seed uint64) error {
	o, err := p.game.Reset(seed)
	if err != nil {
		return err
	}
	if !p.random {
		fmt.Fprintln(p.out, `Type a move and Enter; \boxed{} is put around it. Ctrl-D ends the game.`)
	}
	p.show(o)
	for {
		action, err := p.ask()
		if errors.Is(err, io.EOF) {
			fmt.Fprintf(p.out, "\nleft after %d turns with a return of %.3f\n", p.game.Steps(), p.game.Return())
			return nil
		}
		if err != nil {
			return err
		}
		t, err := p.game.Step(action)
		if err != nil {
			return err
		}
		if !t.Done() {
			p.show(t.Observation)
			fmt.Fprintf(p.out, "(reward %.3f)\n", t.Reward)
			continue
		}
		fmt.Fprintf(p.out, "\n%s\n(reward %.3f)\nthe end after %d turns with a return of %.3f\n", strings.TrimRight(t.Text, "\n"), t.Reward, p.game.Steps(), p.game.Return())
		return nil
	}
}

// show prints an observation and the board.
func (p *player) show(o env.Observation) {
	fmt.Fprintf(p.out, "\n%s%s\n", o.Prefix, strings.TrimRight(o.Text, "\n"))
	if o.Suffix != "" {
		fmt.Fprintln(p.out, strings.TrimRight(o.Suffix, "\n"))
	}
}

// ask returns the next action, io.EOF when there is none.
func (p *player) ask() (string, error) {
	fmt.Fprint(p.out, "> ")
	if p.random {
		action := p.game.SampleAction(&p.chance)
		fmt.Fprintln(p.out, action)
		return action, nil
	}
	if !p.lines.Scan() {
		if err := p.lines.Err(); err != nil {
			return "", err
		}
		return "", io.EOF
	}
	line := strings.TrimSpace(p.lines.Text())
	if !strings.Contains(line, `\boxed`) {
		line = `\boxed{` + line + `}`
	}
	return line, nil
}
