package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/hf/tokenizer"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
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
	o = o.withDefaults()
	ctx, cancel := o.whileWanted(ctx)
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
	p := &gem.Policy{MaxTokens: c.MaxTokens, Temperature: c.Temperature, Seed: uint64(c.Seed)}
	var b *job
	if !x.Random {
		if b, err = evaluationJob(ctx, &c, x.Run, p, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, b.close()) }()
	}
	var renderer env.Renderer
	if b != nil && b.model.template != nil {
		renderer = b.model.template
	}
	registry, err := Environments(c.DataDir)
	if err != nil {
		return nil, err
	}
	for id := range strings.SplitSeq(c.EnvID, ",") {
		evaluation := gem.Evaluation{EnvID: strings.TrimSpace(id), Episodes: c.EvalEpisodes, Seed: uint64(c.Seed)}
		if evaluation.Make, err = maker(registry, evaluation.EnvID, &c, renderer); err != nil {
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

// maker returns what makes an environment with the configuration's wrappers. r may be nil where no wrapper needs a chat
// template.
func maker(registry *env.Registry, id string, c *gem.Config, r env.Renderer) (func() (env.Env, error), error) {
	wrappers, err := env.Wrappers(c.EnvWrappers, r)
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

// evaluationJob opens the model that plays and completes the policy.
func evaluationJob(ctx context.Context, c *gem.Config, dir string, p *gem.Policy, o Options) (*job, error) {
	backend, note, err := chooseForGem(c, o)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(o.Out, backend.Reason+note)
	b := gemJob(c, backend, o)
	err = b.openPolicy(ctx, c, dir, p)
	if err != nil {
		err = errors.Join(err, b.close())
	}
	return b, err
}

func (b *job) openPolicy(ctx context.Context, c *gem.Config, dir string, p *gem.Policy) (err error) {
	if err := b.buildModel(ctx); err != nil {
		return err
	}
	conf, err := tokenizer.LoadConfig(b.model.dir)
	if err != nil {
		return err
	}
	if _, err = b.ownTemplate(conf, b.Now()); err != nil {
		return err
	}
	if p.Template, err = env.TemplateOf(c.Template); err != nil {
		return err
	}
	req := tinker.SamplingClientRequest{BaseModel: b.model.name}
	if dir != "" {
		path, err := gem.LastSampler(dir)
		if err != nil {
			return err
		}
		req = tinker.SamplingClientRequest{ModelPath: path}
	}
	if err := b.openSampling(ctx, dir); err != nil {
		return err
	}
	caps, err := b.service.Capabilities(ctx)
	if err != nil {
		return fmt.Errorf("run: what the service can do: %w", err)
	}
	p.Tokens, p.Context = b.model.tokenizer, contextOf(caps, b.model.name)
	p.Sampler, err = b.service.SamplingClient(ctx, req)
	return err
}

// openSampling opens a service to sample from: on this machine an engine on the checkpoints of a run, or of none.
func (b *job) openSampling(ctx context.Context, dir string) (err error) {
	b.dir = dir
	if dir == "" {
		if b.dir, err = os.MkdirTemp("", "trinity-gem-"); err != nil {
			return fmt.Errorf("run: %w", err)
		}
		b.opened(func() error { return os.RemoveAll(b.dir) })
	}
	if b.backend.Kind != config.Local {
		if err = b.openProgress(); err != nil {
			return err
		}
		return b.openServer(ctx)
	}
	o, err := b.engineOptions()
	if err != nil {
		return err
	}
	o.Beside = true // the run may be at work
	if b.engine, err = engine.Open(o); err != nil {
		return err
	}
	b.opened(b.engine.Close)
	b.service = b.engine
	return nil
}
