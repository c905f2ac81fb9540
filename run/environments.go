package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/loop/proxy"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Environments are those that a command plays: native ones, and those that join from outside. Close it.
type Environments struct {
	*env.Registry
	job *job.Job
}

// Close ends sessions and processes.
func (e *Environments) Close() error { return e.job.Close() }

// OpenEnvironments returns all native environments, with the data of the folder data, and starts Python if one of ids
// is in Python. What is on servers is looked up when it is asked for.
func OpenEnvironments(ctx context.Context, o Options, data string, ids ...string) (*Environments, error) {
	e := &Environments{job: job.New(config.Default(), o)}
	e.job.Config.Explorer.PythonProcesses = gemProcesses
	var err error
	if e.Registry, err = openEnvironments(ctx, e.job, data, nil, ids...); err != nil {
		return nil, errors.Join(err, e.job.Close())
	}
	return e, nil
}

// openEnvironments does so for a job. player plays environments that call the model themselves; nil is a player without
// a model, who reads in the template of the shipped one.
func openEnvironments(ctx context.Context, j *job.Job, data string, player func() (outside.Player, error),
	ids ...string) (*env.Registry, error) {
	if player == nil {
		player = func() (outside.Player, error) {
			m, err := job.LoadModel("policy", j.Find(shippedModel), nil)
			if err != nil {
				return outside.Player{}, err
			}
			return playerWith(j, m, tinker.DefaultSampling())
		}
	}
	j.Site.Player = player
	if err := openOutside(ctx, j, outside.Named{Environments: ids}); err != nil {
		return nil, err
	}
	return j.Environments(data)
}

// playerOf is a model that plays by the keys of trinity gem.
func playerOf(j *job.Job, c *gem.Config, model func() (*job.Model, error)) func() (outside.Player, error) {
	return func() (outside.Player, error) {
		params := tinker.DefaultSampling()
		params.MaxTokens, params.Temperature = c.MaxTokens, c.Temperature
		m, err := model()
		if err != nil {
			return outside.Player{}, err
		}
		return playerWith(j, m, params)
	}
}

func playerWith(j *job.Job, m *job.Model, params tinker.SamplingParams) (p outside.Player, err error) {
	if m.Template == nil {
		if err := m.UseOwnTemplate(j.Now()); err != nil {
			return p, err
		}
	}
	text, err := m.Text()
	if err != nil {
		return p, err
	}
	offers := proxy.NewOffers(proxy.OfferOptions{Name: m.Name, Text: text, Now: j.Now})
	return outside.Player{Name: m.Name, Params: params, Rollouts: offers, URL: offers.URL, Close: offers.Close}, nil
}

// wholePrompts has the player read what environments that call the model themselves say as it is: whole prompts, in the
// model's own template.
func wholePrompts(c *gem.Config) error {
	if !callsModel(c.EnvID) {
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
