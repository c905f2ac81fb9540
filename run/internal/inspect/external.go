package inspect

import (
	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// External reaches the model that mode bench evaluates behind OpenAI's interface.
func External(cfg *config.Config, s site.Site) (*openai.Service, *base.Model, error) {
	e := cfg.Model.ExternalModel
	x, err := openai.ReachService(s.LookupEnv, e.ModelName, e.BaseURLEnv, e.APIKeyEnv)
	return x, &base.Model{Name: e.ModelName}, err
}
