package config

import "github.com/seed-d9ad8ee0/trinity/internal/recipe"

// Follow052 gives the configuration the meaning that it had when this program followed Trinity-RFT 0.5.2, for a job
// that was begun then: the preset of m2po, and what [Config.Follows052] tells others. Everything else means what it
// does in 0.6.0.
func (c *Config) Follow052() {
	c.follows052 = true
	c.Derive()
}

// Follows052 reports whether max_staleness counts from 1, math_dapo_reward gives 0 and not -1 for a wrong answer, and
// the math_boxed workflows train answers that were cut off.
func (c *Config) Follows052() bool { return c.follows052 }

// recipe is the row of the algorithm type, and whether there is one.
func (c *Config) recipe() (recipe.Recipe, bool) {
	table := recipe.All()
	if c.follows052 {
		table = recipe.Before06()
	}
	row, ok := table[c.Algorithm.Type]
	return row, ok
}
