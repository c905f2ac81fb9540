package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/run"
)

type gemPlayCmd struct {
	gemData
	ID     string   `arg:"" name:"env_id" help:"The environment; trinity gem list shows all."`
	Pairs  []string `arg:"" optional:"" name:"key=value" help:"Other parameters, such as max_turns=50."`
	Seed   uint64   `default:"0" help:"The seed of the episode."`
	Random bool     `help:"Let the random player play."`

	Model       string  `help:"Let a model play: a hub name, or a folder as for trinity chat."`
	Wrappers    string  `help:"What the model sees, like env_wrappers of trinity gem." default:"concat"`
	Tools       string  `help:"Tools for the model, like tools of trinity gem." placeholder:"LIST"`
	SearchURL   string  `name:"search-url" help:"The server of the search tool." placeholder:"URL"`
	Python      string  `help:"The Python of environments and of the model's code." placeholder:"PATH"`
	Sandbox     string  `help:"For the model's Python code: auto, namespaces or none." default:"auto"`
	Template    string  `help:"The prompt template, like template of trinity gem." default:"qwen3_game"`
	Temperature float64 `help:"Sampling temperature; 0 always takes the likeliest token." default:"1"`
	MaxTokens   int     `help:"The model's longest answer, in tokens." default:"1024"`
	Threads     int     `help:"Threads of the local engine; 0 is all." default:"0"`
}

// Run implements the command.
func (c *gemPlayCmd) Run(s *surroundings) error {
	if c.Model != "" && verifiers.Is(c.ID) {
		return usageError{errors.New("trinity: an environment of verifiers writes its prompts in the model's own " +
			"chat template, so here people and the random player play; trinity gem eval lets a model play")}
	}
	ctx, cancel := s.untilStop()
	defer cancel()
	own := *s
	own.ctx = ctx
	s = &own
	o := s.options(0)
	o.Python = (&pythonFlags{Python: c.Python}).python(s)
	registry, err := run.OpenEnvironments(s.ctx, o, c.Data, c.ID)
	if err != nil {
		return usageError{err}
	}
	defer registry.Close()
	params, err := envParams(c.Pairs)
	if err != nil {
		return usageError{err}
	}
	e, err := registry.Make(c.ID, params)
	if err != nil {
		return usageError{err}
	}
	p := player{game: &heard{Tracker: env.NewTracker(e)}, out: s.out}
	p.seen = p.game
	switch {
	case c.Model != "":
		return c.model(s, &p)
	case c.Random:
		p.answer = p.atRandom(c.Seed)
	default:
		fmt.Fprintln(p.out, `Type a move and press Enter; \boxed{} is added around it. Ctrl-D leaves the game.`)
		p.answer = byHand(s.ctx, lines(os.Stdin))
	}
	return p.play(s.ctx, c.Seed)
}

// envParams parses parameters of an environment.
func envParams(pairs []string) (env.Params, error) {
	params := env.Params{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		n, err := strconv.Atoi(value)
		if value == "drawn" {
			n, err = env.Drawn, nil
		}
		if !ok || err != nil {
			return nil, fmt.Errorf("%q is not a parameter; write name=number or name=drawn, such as max_turns=50", pair)
		}
		params[key] = n
	}
	return params, nil
}

// heard is a game that remembers its last observation, before wrappers change it for the player.
type heard struct {
	*env.Tracker
	said env.Observation
}

// Reset begins an episode.
func (h *heard) Reset(seed uint64) (env.Observation, error) {
	o, err := h.Tracker.Reset(seed)
	h.said = o
	return o, err
}

// Step plays an action.
func (h *heard) Step(action string) (env.Transition, error) {
	t, err := h.Tracker.Step(action)
	h.said = t.Observation
	return t, err
}

// player plays an episode turn by turn and prints it.
type player struct {
	game   *heard
	seen   env.Env // the game as the player sees it
	out    io.Writer
	answer func(o env.Observation) (string, error) // the next action; io.EOF leaves the game
}

// play plays the episode of a seed to its end, or until there are no more actions or ctx ends.
func (p *player) play(ctx context.Context, seed uint64) error {
	err := p.turns(ctx, seed)
	if errors.Is(err, io.EOF) || err != nil && ctx.Err() != nil {
		fmt.Fprintf(p.out, "\nleft after %d turns with a return of %.3f\n", p.game.Steps(), p.game.Return())
		return nil
	}
	return err
}

func (p *player) turns(ctx context.Context, seed uint64) error {
	o, err := p.seen.Reset(seed)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		p.show(p.game.said)
		fmt.Fprint(p.out, "> ")
		action, err := p.answer(o)
		if err != nil {
			return err
		}
		t, err := p.seen.Step(action)
		if err != nil {
			return err
		}
		if t.Done() {
			fmt.Fprintf(p.out, "\n%s\n(reward %.3f)\nthe end after %d turns with a return of %.3f\n",
				strings.TrimRight(p.game.said.Text, "\n"), t.Reward, p.game.Steps(), p.game.Return())
			return nil
		}
		fmt.Fprintf(p.out, "(reward %.3f)\n", t.Reward)
		o = t.Observation
	}
	return ctx.Err()
}

// show prints an observation and the board.
func (p *player) show(o env.Observation) {
	fmt.Fprintf(p.out, "\n%s%s\n", foreign.Plain(o.Prefix), foreign.Plain(strings.TrimRight(o.Text, "\n")))
	if o.Suffix != "" {
		fmt.Fprintln(p.out, foreign.Plain(strings.TrimRight(o.Suffix, "\n")))
	}
}

// byHand reads actions line by line, until there are no more or ctx ends.
func byHand(ctx context.Context, lines <-chan string) func(env.Observation) (string, error) {
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

// atRandom draws actions and prints them.
func (p *player) atRandom(seed uint64) func(env.Observation) (string, error) {
	chance := rng.New(seed).Stream("random player")
	return func(env.Observation) (string, error) {
		action := p.game.SampleAction(&chance)
		fmt.Fprintln(p.out, action)
		return action, nil
	}
}
