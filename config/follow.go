package config

import (
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// Follow052 gives the configuration the meaning that it had when this program followed Trinity-RFT 0.5.2, for a job
// that was begun then: the preset of m2po, and what [Follows052] tells others. Everything else means what it
// does in 0.6.0.
func Follow052(c *Config) {
	c.follows052 = true
	c.Derive()
	if rules := c.changedRules(); len(rules) > 0 {
		c.note("the job was begun when this program followed Trinity-RFT 0.5.2 and keeps its rules for %s; a job of "+
			"another name follows 0.6.0", strings.Join(rules, ", "))
	}
}

// changedRules are the parts of the configuration that mean something else in 0.6.0.
func (c *Config) changedRules() (rules []string) {
	for _, name := range []string{c.Algorithm.Type, c.Algorithm.SampleStrategy} {
		if name == "m2po" || name == "staleness_control" {
			rules = append(rules, name)
		}
	}
	for _, t := range slices.Concat(c.Buffer.ExplorerInput.Training(), c.Buffer.ExplorerInput.EvalTasksets) {
		for _, name := range []string{t.DefaultRewardFnType, t.DefaultWorkflowType} {
			if changed := strings.HasSuffix(name, "math_boxed_workflow") || name == "math_dapo_reward"; changed &&
				!slices.Contains(rules, name) {
				rules = append(rules, name)
			}
		}
	}
	return rules
}

// Follows052 reports whether max_staleness counts from 1, math_dapo_reward gives 0 and not -1 for a wrong answer, and
// the math_boxed workflows train answers that were cut off.
func Follows052(c *Config) bool { return c.follows052 }

// recipe is the row of the algorithm type, and whether there is one.
func (c *Config) recipe() (recipe.Recipe, bool) {
	table := recipe.All()
	if c.follows052 {
		table = recipe.Before06()
	}
	row, ok := table[c.Algorithm.Type]
	return row, ok
}
