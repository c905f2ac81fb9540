package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/seed-d9ad8ee0/trinity/cmd/trinity/internal/play"
	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/tool"
)

// model lets a model play, until s.ctx ends.
func (c *gemPlayCmd) model(s *surroundings, p *play.Player) error {
	if c.Temperature < 0 || c.MaxTokens < 1 {
		return usageError{errors.New("trinity: --temperature must be at least 0 and --max-tokens at least 1")}
	}
	template, err := env.TemplateOf(c.Template)
	if err != nil {
		return usageError{err}
	}
	dir, err := os.MkdirTemp("", "trinity-gem-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o := s.speaker(c.Threads)
	o.Model = c.Model
	t, _, err := s.speak(o, dir)
	if err != nil {
		return err
	}
	defer t.Engine.Close()
	tools := tool.NewBox(tool.Options{LookupEnv: s.env, Staged: true,
		Note: func(note string) { fmt.Fprintln(s.err, "note:", foreign.Text(note)) }})
	defer tools.Close()
	spec := env.ToolSpec{Tools: c.Tools, Wrappers: c.Wrappers, SearchURL: c.SearchURL, Python: c.Python,
		Sandbox: c.Sandbox, Rules: env.ToolOptions{MaxUses: 10}}
	opened, err := tools.Wrappers(s.ctx, spec)
	if err != nil {
		return err
	}
	wrappers, err := env.Wrappers(spec.Names(), t.Template, opened)
	if err != nil {
		return usageError{err}
	}
	p.Seen = env.Wrap(p.Game, wrappers...)
	m := gem.Policy{Sampler: t.Client, Tokens: t.Tokenizer, Template: template, MaxTokens: c.MaxTokens,
		Temperature: c.Temperature, Seed: c.Seed}
	var seq chat.Sequence
	turn := 0
	p.Answer = func(o env.Observation) (string, error) {
		a, _, err := m.Answer(s.ctx, &seq, o, "play", turn)
		if err != nil {
			return "", err
		}
		turn++
		action := m.Action(a.Response)
		fmt.Fprintln(p.Out, foreign.Plain(action))
		return action, nil
	}
	return p.Play(s.ctx, c.Seed)
}
