package buffer

import (
	"fmt"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
)

// limitedRandomization is the name of the priority function that limits uses and draws noise.
const limitedRandomization = "decay_limit_randomization"

// NewPriority is the Priority that a priority function and its arguments name, upstream's replay_buffer. p has what
// does not depend on them: Seed, Reuse, Cooldown and Capacity.
func NewPriority(function string, args map[string]any, p Priority) (*Priority, error) {
	limited := function == limitedRandomization
	p.Decay = 2
	if limited {
		p.Limit = 3
	}
	given := arg.Read(args)
	p.Decay = given.Float("decay", p.Decay)
	if limited {
		p.Sigma, p.Limit = given.Float("sigma", 0), given.Int("use_count_limit", p.Limit, 0)
	}
	given.Require(p.Decay >= 0, "decay", p.Decay, "0 or more")
	given.Require(p.Sigma >= 0, "sigma", p.Sigma, "0 or more")
	if err := given.Close(); err != nil {
		return nil, fmt.Errorf("priority_fn %s: %w", function, err)
	}
	return &p, nil
}
