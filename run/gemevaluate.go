package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/internal/foreign"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/monitor/console"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// GemEvaluation is what trinity gem eval is asked for.
type GemEvaluation struct {
	Pairs  []string         // key=value as of trinity gem; env_id may name several, separated by commas
	Run    string           // the folder of a run whose last weights play; "" plays the model itself
	Random bool             // play at random, without a model
	Each   func(gem.Result) // told of every environment that is done; may be nil
}

// Evaluate evaluates a model, or the random policy, on environments.
func (x GemEvaluation) Evaluate(ctx context.Context, o Options) (results []gem.Result, err error) {
	o, quiet := o.withDefaults().withBusy(ctx)
	defer quiet()
	ctx, cancel := o.site().WhileWanted(ctx)
	defer cancel()
	c := gem.Default()
	var kept []string
	if x.Run != "" {
		if kept, err = gem.ReadKeys(x.Run); err != nil {
			return nil, err
		}
	}
	if err := c.SetAll(append(kept, x.Pairs...)); err != nil {
		return nil, err
	}
	if err := wholePrompts(&c); err != nil {
		return nil, err
	}
	p := &gem.Policy{MaxTokens: c.MaxTokens, Temperature: c.Temperature, Seed: uint64(c.Seed)}
	var closers site.Closers
	defer func() { err = errors.Join(err, closers.Close()) }()
	var played *base.Model
	if !x.Random {
		if played, err = openPolicy(ctx, &c, x.Run, p, o, &closers); err != nil {
			return nil, err
		}
		o.player = playerOf(&c, func() (*base.Model, error) { return played, nil })
	}
	ids := strings.Split(c.EnvID, ",")
	registry, err := OpenEnvironments(ctx, o, c.DataDir, ids...)
	if err != nil {
		return nil, err
	}
	closers.Add(registry.Close)
	tools := newSetting(gemConfig(&c), config.Backend{}, o, x.Run, &closers).toolbox(
		func(note string) { fmt.Fprintln(o.Out, "note:", foreign.Text(note)) })
	for _, id := range ids {
		o.busy.With("playing " + id)
		evaluation := gem.Evaluation{EnvID: strings.TrimSpace(id), Episodes: c.EvalEpisodes, Seed: uint64(c.Seed)}
		if evaluation.Make, err = maker(ctx, registry.Registry, evaluation.EnvID, &c, played, tools); err != nil {
			return results, err
		}
		if !x.Random {
			evaluation.Policy = p
		}
		r, err := evaluation.Run(ctx)
		if err != nil {
			return results, err
		}
		results = append(results, r)
		if x.Each != nil {
			x.Each(r)
		}
	}
	return results, nil
}

// maker returns what makes an environment with the configuration's wrappers, which render chats with m's template if
// they need one. m may be nil. Calls of tools end with ctx.
func maker(ctx context.Context, registry *env.Registry, id string, c *gem.Config, m *base.Model,
	tools env.Toolbox) (func() (env.Env, error), error) {
	var r env.Renderer
	if m != nil && m.Template != nil {
		r = m.Template
	}
	opened, err := tools.Wrappers(ctx, c.ToolSpec())
	if err != nil {
		return nil, err
	}
	wrappers, err := env.Wrappers(c.ToolSpec().Names(), r, opened)
	if err != nil {
		return nil, err
	}
	if _, err := registry.Make(id, nil); err != nil {
		return nil, err
	}
	return func() (env.Env, error) {
		e, err := registry.Make(id, nil)
		if err != nil {
			return nil, err
		}
		return env.Wrap(e, wrappers...), nil
	}, nil
}

// openPolicy opens the model that plays, on a service to sample from, and completes the policy.
func openPolicy(
	ctx context.Context, c *gem.Config, run string, p *gem.Policy, o Options, closers *site.Closers,
) (*base.Model, error) {
	backend, note, err := chooseForGem(c, o)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(o.Out, backend.Reason+note)
	set := newSetting(gemConfig(c), backend, o, run, closers)
	m, err := service.Finder{Site: set.site, Config: set.cfg, Backend: backend, Gem: true}.Model(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := m.UseOwnTemplate(o.Now()); err != nil {
		return nil, err
	}
	if p.Template, err = env.TemplateOf(c.Template); err != nil {
		return nil, err
	}
	req := tinker.SamplingClientRequest{BaseModel: m.Name}
	if run != "" {
		path, err := gem.LastSampler(run)
		if err != nil {
			return nil, err
		}
		req = tinker.SamplingClientRequest{ModelPath: path}
	}
	s, err := openSampling(ctx, set, o, m)
	if err != nil {
		return nil, err
	}
	if p.Context, err = service.Context(ctx, s, m.Name, algorithm.Needs{}, service.Teacher{}); err != nil {
		return nil, err
	}
	p.Tokens = m.Tokenizer
	p.Sampler, err = s.SamplingClient(ctx, req)
	return m, err
}

// openSampling opens a service to sample from: on this machine an engine on the checkpoints of a run, or of none.
func openSampling(ctx context.Context, set setting, o Options, m *base.Model) (tinker.Service, error) {
	if set.folder.Path == "" {
		dir, err := os.MkdirTemp("", "trinity-gem-")
		if err != nil {
			return nil, fmt.Errorf("run: %w", err)
		}
		set.opened(func() error { return os.RemoveAll(dir) })
		set.folder.Path = dir
	}
	var progress *console.Progress
	if !set.local() {
		var err error
		if progress, err = set.progress(); err != nil {
			return nil, err
		}
	}
	s, err := serviceOptions(set, models{base: m}, progress, o).OpenSampling(ctx)
	return s.API, err
}
