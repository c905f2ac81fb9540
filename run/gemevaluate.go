package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/loop/gem"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/outside"
	"github.com/seed-d9ad8ee0/trinity/run/internal/job"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// GemEvaluation is a request of trinity gem eval.
type GemEvaluation struct {
	Pairs  []string         // key=value as of trinity gem; env_id may name several, separated by commas
	Run    string           // the folder of a run whose last weights play; "" plays the model itself
	Random bool             // play at random, without a model
	Each   func(gem.Result) // told of every environment that is done; may be nil
}

// Evaluate evaluates a model, or the random policy, on environments.
func (x GemEvaluation) Evaluate(ctx context.Context, o Options) (results []gem.Result, err error) {
	j := job.New(config.Default(), o)
	j.SayBusy(ctx)
	defer func() { err = errors.Join(err, j.Close()) }()
	ctx, cancel := j.WhileWanted(ctx)
	defer cancel()
	c, err := x.configure()
	if err != nil {
		return nil, err
	}
	j.Config = gemConfig(&c)
	policy := &gem.Policy{MaxTokens: c.MaxTokens, Temperature: c.Temperature, Seed: uint64(c.Seed)}
	var play func() (outside.Player, error)
	if !x.Random {
		if err = openPolicy(ctx, j, &c, x.Run, policy); err != nil {
			return nil, err
		}
		play = playerOf(j, &c, func() (*job.Model, error) { return j.Model, nil })
	}
	ids := strings.Split(c.EnvID, ",")
	registry, err := openEnvironments(ctx, j, c.DataDir, play, ids...)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		j.Busy.With("playing " + id)
		evaluation := gem.Evaluation{EnvID: strings.TrimSpace(id), Episodes: c.EvalEpisodes, Seed: uint64(c.Seed)}
		if evaluation.Make, err = maker(ctx, j, registry, evaluation.EnvID, &c); err != nil {
			return results, err
		}
		if !x.Random {
			evaluation.Policy = policy
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

// configure reads the pairs, on top of the keys of the run whose weights play.
func (x GemEvaluation) configure() (c gem.Config, err error) {
	var kept []string
	if x.Run != "" {
		if kept, err = gem.ReadKeys(x.Run); err != nil {
			return c, err
		}
	}
	c = gem.Default()
	if err := c.SetAll(append(kept, x.Pairs...)); err != nil {
		return c, err
	}
	return c, wholePrompts(&c)
}

// maker returns what makes an environment with the configuration's wrappers, which render chats with the template of
// the job's model if they need one. Calls of tools end with ctx.
func maker(ctx context.Context, j *job.Job, registry *env.Registry, id string, c *gem.Config) (func() (env.Env, error),
	error) {
	var r env.Renderer
	if j.Model != nil && j.Model.Template != nil {
		r = j.Model.Template
	}
	opened, err := j.Outside.Tools.Wrappers(ctx, c.ToolSpec())
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

// openPolicy opens the model that plays, on a service to sample from, and completes the policy. The last weights of the
// run in the folder run play, or with "" the model itself.
func openPolicy(ctx context.Context, j *job.Job, c *gem.Config, run string, p *gem.Policy) error {
	note, err := chooseForGem(j, c)
	if err != nil {
		return err
	}
	fmt.Fprintln(j.Out, j.Backend.Reason+note)
	j.Dir = jobdir.Of(j.Config, j.FS, run)
	if j.Model, err = service.FindModel(ctx, j, nil); err != nil {
		return err
	}
	if err := j.Model.UseOwnTemplate(j.Now()); err != nil {
		return err
	}
	if p.Template, err = env.TemplateOf(c.Template); err != nil {
		return err
	}
	req := tinker.SamplingClientRequest{BaseModel: j.Model.Name}
	if run != "" {
		path, err := gem.LastSampler(run)
		if err != nil {
			return err
		}
		req = tinker.SamplingClientRequest{ModelPath: path}
	}
	if err := openSampling(ctx, j); err != nil {
		return err
	}
	if p.Context, err = service.Context(ctx, j); err != nil {
		return err
	}
	p.Tokens = j.Model.Tokenizer
	p.Sampler, err = j.API.SamplingClient(ctx, req)
	return err
}

// openSampling opens a service to sample from: on this machine an engine on the checkpoints of a run, or of none.
func openSampling(ctx context.Context, j *job.Job) error {
	if j.Dir.Path == "" {
		dir, err := os.MkdirTemp("", "trinity-gem-")
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
		j.Opened(func() error { return os.RemoveAll(dir) })
		j.Dir.Path = dir
	}
	if !j.Local() {
		if err := j.OpenProgress(); err != nil {
			return err
		}
	}
	return service.OpenSampling(ctx, j)
}
