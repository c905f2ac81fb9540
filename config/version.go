package config

import (
	"maps"
	"slices"
)

// versions are notes about keys whose meaning changed between Trinity-RFT 0.5.2 and 0.6.0. The keys are the same, so a
// file does not tell which of the two its user means; this program follows 0.6.0.
func (c *Config) versions() (notes []string) {
	if c.follows052 {
		return nil
	}
	if c.Algorithm.SampleStrategy == "staleness_control" {
		notes = append(notes, "algorithm.sample_strategy staleness_control: max_staleness 0 is on-policy, as in "+
			"Trinity-RFT 0.6.0; in 0.5.2 that was 1")
	}
	if c.grades("math_dapo_reward") {
		notes = append(notes, "math_dapo_reward gives 1 and −1, as in Trinity-RFT 0.6.0; 0.5.2 gave 1 and 0")
	}
	if c.shuffles() {
		notes = append(notes, "data_selector shuffle draws a new order for each epoch, as in Trinity-RFT 0.6.0; 0.5.2 "+
			"repeated one order")
	}
	if c.Monitor.DetailedStats {
		notes = append(notes, "monitor.detailed_stats: std is that of the population (÷ n), as in Trinity-RFT 0.6.0; "+
			"0.5.2 divided by n − 1")
	}
	if c.staged() {
		for i := range c.Stages {
			notes = append(notes, c.stage(i).versions()...)
		}
	}
	return notes
}

// tasksets are all that the mode reads.
func (c *Config) tasksets() []Taskset {
	if !c.Mode.Explores() {
		return nil
	}
	in := &c.Buffer.ExplorerInput
	if c.Mode == Bench {
		return in.EvalTasksets
	}
	return slices.Concat(in.Training(), in.EvalTasksets)
}

// grades reports whether a taskset has the reward.
func (c *Config) grades(reward string) bool {
	return slices.ContainsFunc(c.tasksets(), func(t Taskset) bool { return t.DefaultRewardFnType == reward })
}

// shuffles reports whether something that is trained on has the selector shuffle.
func (c *Config) shuffles() bool {
	shuffled := func(s *DataSelector) bool { return s != nil && s.SelectorType == "shuffle" }
	if c.Mode.Explores() && c.Mode != Bench && slices.ContainsFunc(c.Buffer.ExplorerInput.Training(),
		func(t Taskset) bool { return shuffled(t.DataSelector) }) {
		return true
	}
	in := &c.Buffer.TrainerInput
	if b := in.ExperienceBuffer; b != nil && c.Mode.Trains() && c.Algorithm.fromDataset() && shuffled(b.DataSelector) {
		return true
	}
	return c.Mode.Trains() && slices.ContainsFunc(slices.Collect(maps.Values(in.AuxiliaryBuffers)),
		func(b ExperienceBuffer) bool { return shuffled(b.DataSelector) })
}
