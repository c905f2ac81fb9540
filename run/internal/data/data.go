// Package data opens what a configuration trains and evaluates on: the rows of its tasksets with their workflows and
// rewards, and the examples of sft, dpo and experts.
package data

import (
	"time"

	"github.com/seed-d9ad8ee0/trinity/config"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/run/internal/base"
	"github.com/seed-d9ad8ee0/trinity/run/internal/openai"
	"github.com/seed-d9ad8ee0/trinity/run/internal/service"
	"github.com/seed-d9ad8ee0/trinity/run/internal/site"
)

// Opener opens the data of a configuration.
type Opener struct {
	Site     site.Site
	Config   *config.Config
	Method   *algorithm.Method
	Model    *base.Model
	External *openai.Service // is sampled in place of Model; nil: Model is
	Judge    *service.Judge  // nil: no workflow asks one
	Context  int             // tokens that a sequence may have; 0: not known
	Date     time.Time       // which chat templates are told
	Note     func(text string)
	Warn     func(text string)
	Opened   func(close func() error)
	Tools    env.Toolbox            // for environments; nil: there are none
	Rollouts workflow.Rollouts      // where rollout_workflow opens its own; nil: nowhere
	URL      func() (string, error) // where those of plug-ins and of Carriers are served; nil: nowhere
	Carriers map[string]workflow.Carrier
}
