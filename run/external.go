package run

import (
	"context"
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/jobdir"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
)

// buildExternal takes the place of the parts that know a model's folder.
func (b *job) buildExternal(ctx context.Context) error {
	if err := b.reachExternal(); err != nil {
		return err
	}
	b.identity = jobdir.Draw(b.cfg, "", b.Now())
	if err := b.folder().Make(); err != nil {
		return err
	}
	if err := b.lock(ctx, jobdir.Roles(b.cfg)...); err != nil {
		return err
	}
	return b.openProgress()
}

// reachExternal finds the model that mode bench evaluates.
func (b *job) reachExternal() error {
	e := b.cfg.Model.ExternalModel
	x, err := openai.ReachService(b.LookupEnv, e.ModelName, e.BaseURLEnv, e.APIKeyEnv)
	if err != nil {
		return err
	}
	b.external, b.service, b.model = x, x, &baseModel{name: e.ModelName}
	return nil
}

// externalBackend says what a run evaluates.
func externalBackend(c *config.Config) config.Backend {
	e := c.Model.ExternalModel
	return config.Backend{Kind: config.Server, Reason: fmt.Sprintf("evaluating %s behind the address in %s "+
		"(model.external_model)", e.ModelName, e.BaseURLEnv)}
}

// reachJudge finds a judge that a workflow names.
func (o Options) reachJudge(model, urlEnv, keyEnv string) (workflow.Judge, error) {
	return openai.Reach(o.LookupEnv, model, urlEnv, keyEnv)
}
