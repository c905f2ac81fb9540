package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/play"
	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/talk"
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
	p := play.New(e, s.out)
	switch {
	case c.Model != "":
		return c.model(s, p)
	case c.Random:
		p.Answer = p.AtRandom(c.Seed)
	default:
		fmt.Fprintln(p.Out, `Type a move and press Enter; \boxed{} is added around it. Ctrl-D leaves the game.`)
		p.Answer = play.ByHand(s.ctx, talk.Lines(os.Stdin))
	}
	return p.Play(s.ctx, c.Seed)
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
