package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/env/selfdriven"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
	"github.com/seed-d9ad8ee0/trinity/rl/verifiers"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// carriedEnvs are the environments of verifiers that trinity gem plays. A nil one has none.
type carriedEnvs struct {
	ctx     context.Context
	o       Options
	log     *pythonLog
	servers *verifiers.Servers
	player  func() (*base.Model, tinker.SamplingParams, error)

	mu      sync.Mutex
	sources map[string]*selfdriven.Source
	served  []*proxy.Offers // their rollouts
}

// withCarried makes what plays environments of verifiers, if one of ids is there. o.player says who plays; nil is a
// player without a model, who reads in the template of the shipped one.
func (o Options) withCarried(ctx context.Context, ids ...string) *carriedEnvs {
	if !slices.ContainsFunc(ids, verifiers.Is) {
		return nil
	}
	c := &carriedEnvs{ctx: context.WithoutCancel(ctx), o: o, log: &pythonLog{who: "verifiers"},
		sources: map[string]*selfdriven.Source{}, player: o.player}
	if c.player == nil {
		c.player = func() (*base.Model, tinker.SamplingParams, error) {
			m, err := base.Load("policy", o.Find(shippedModel), nil)
			return m, tinker.DefaultSampling(), err
		}
	}
	c.servers = verifiers.New(verifiers.Options{Executable: o.Python.Executable, Path: o.Python.Path,
		Log: func(line string) { c.log.add(python.Entry{Text: line}) }})
	return c
}

// playerOf is a model that plays by the keys of trinity gem.
func playerOf(c *gem.Config, model func() (*base.Model, error)) func() (*base.Model, tinker.SamplingParams, error) {
	return func() (*base.Model, tinker.SamplingParams, error) {
		params := tinker.DefaultSampling()
		params.MaxTokens, params.Temperature = c.MaxTokens, c.Temperature
		m, err := model()
		return m, params, err
	}
}

// Spec is an env.Finder.
func (c *carriedEnvs) Spec(id string) (env.Spec, error) {
	c.mu.Lock()
	s := c.sources[id]
	if s == nil {
		var err error
		if s, err = c.open(id); err != nil {
			c.mu.Unlock()
			return env.Spec{}, fmt.Errorf("env: %s: %w", id, err)
		}
		c.sources[id] = s
	}
	c.mu.Unlock()
	return s.Spec()
}

// open reads the tasks of an id.
func (c *carriedEnvs) open(id string) (*selfdriven.Source, error) {
	p, err := verifiers.Parse(id)
	if err != nil {
		return nil, err
	}
	carrying, err := c.servers.Check(p.Args)
	if err != nil {
		return nil, err
	}
	tasks, err := c.tasks(p)
	if err != nil {
		return nil, err
	}
	m, params, err := c.player()
	if err != nil {
		return nil, err
	}
	if m.Template == nil {
		if err := m.UseOwnTemplate(c.o.Now()); err != nil {
			return nil, err
		}
	}
	text, err := m.Text()
	if err != nil {
		return nil, err
	}
	offers := proxy.NewOffers(proxy.OfferOptions{Name: m.Name, Text: text, Now: c.o.Now})
	c.served = append(c.served, offers)
	return selfdriven.New(c.ctx, selfdriven.Options{ID: id, Carrying: carrying, Tasks: tasks,
		Rollouts: offers, URL: offers.URL, Model: m.Name, Params: params, Random: p.Random,
		Note: func(note string) { fmt.Fprintln(c.o.Out, "note:", foreign.Text(note)) },
		Failed: func(err error) {
			c.log.add(python.Entry{Level: "error", Text: "an episode failed: " + err.Error()})
		}}), nil
}

func (c *carriedEnvs) tasks(p verifiers.ID) (*dataset.Source, error) {
	args := map[string]any{}
	for k, v := range p.Args {
		if k != "env_id" {
			args[k] = v
		}
	}
	return c.o.verifiersTasks(c.ctx, p.Tasks, args)
}

// Close ends episodes and servers. c may be nil.
func (c *carriedEnvs) Close() error {
	if c == nil {
		return nil
	}
	var err error
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sources {
		err = errors.Join(err, s.Close())
	}
	for _, l := range c.served {
		err = errors.Join(err, l.Close())
	}
	err = errors.Join(err, c.servers.Close())
	c.log.close()
	return err
}

// wholePrompts has the player read what environments of verifiers say as it is: whole prompts, in its own template.
func wholePrompts(c *gem.Config) error {
	if !verifiers.Is(c.EnvID) {
		return nil
	}
	usual := gem.Default()
	if c.Template == usual.Template {
		c.Template = env.NoTemplate
	}
	if c.EnvWrappers == usual.EnvWrappers {
		c.EnvWrappers = ""
	}
	if c.Template != env.NoTemplate || c.EnvWrappers != "" || c.Tools != "" {
		return fmt.Errorf("run: env_id=%s says whole prompts in the model's chat template, with the tools of the "+
			"environment; leave out template=%s, env_wrappers=%s and tools=%s", c.EnvID, c.Template, c.EnvWrappers,
			c.Tools)
	}
	return nil
}
