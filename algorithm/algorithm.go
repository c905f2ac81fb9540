// Package algorithm is the mathematics of reinforcement fine-tuning: from rewards to advantages, and from
// log-probabilities, masks and advantages to a loss and its derivative with respect to each log-probability. Everything
// is a pure function of its arguments; there is no model, no file and no goroutine here.
//
// Names, arguments and defaults are those of Trinity-RFT's `algorithm` section. Each kind of function stands in one
// visible table (Algorithms, Advantages, PolicyLosses, KLs, Entropies); adding one is adding a row.
//
// Arithmetic is float64 over float32 inputs and is rounded once, at the end.
package algorithm

import (
	"fmt"
	"maps"
	"slices"
)

// Row is one line of Trinity-RFT's table of algorithm types: which functions an algorithm uses when the configuration
// does not choose others.
type Row struct {
	Advantage      string // key of Advantages, empty when the algorithm scores nothing
	SampleStrategy string
	PolicyLoss     string // key of PolicyLosses
	KLLoss         string // key of KLs
	Entropy        string // key of Entropies
	Schema         string // what a training example is: "experience", "sft"
}

// Algorithms is the table of algorithm types, by the value of algorithm.algorithm_type.
func Algorithms() map[string]Row {
	return map[string]Row{
		"grpo": {Advantage: "grpo", SampleStrategy: "default", PolicyLoss: "ppo", KLLoss: "k2", Entropy: "default", Schema: "experience"},
		"opmd": {Advantage: "opmd", SampleStrategy: "default", PolicyLoss: "opmd", KLLoss: "k2", Entropy: "default", Schema: "experience"},
		"sft":  {SampleStrategy: "default", PolicyLoss: "sft", KLLoss: "none", Entropy: "none", Schema: "sft"},
	}
}

// Choice is what a configuration says about the algorithm. An empty name means the algorithm's own; arguments left out
// have the function's documented default (Trinity-RFT drops all defaults as soon as one argument is given).
type Choice struct {
	Type            string `yaml:"algorithm_type"`
	SampleStrategy  string `yaml:"sample_strategy"`
	Advantage       string `yaml:"advantage_fn"`
	AdvantageArgs   Args   `yaml:"advantage_fn_args"`
	KLPenalty       string `yaml:"kl_penalty_fn"`
	PolicyLoss      string `yaml:"policy_loss_fn"`
	PolicyLossArgs  Args   `yaml:"policy_loss_fn_args"`
	KLLoss          string `yaml:"kl_loss_fn"`
	KLLossArgs      Args   `yaml:"kl_loss_fn_args"`
	Entropy         string `yaml:"entropy_loss_fn"`
	EntropyArgs     Args   `yaml:"entropy_loss_fn_args"`
	AggregationMode string `yaml:"loss_agg_mode"`
}

// Method is an algorithm ready to use.
type Method struct {
	Name           string
	Advantage      Advantage // nil when the algorithm scores nothing (sft)
	SampleStrategy string
	Objective      Objective
	Schema         string
}

// New resolves a choice against the tables. Its errors name the configuration key, the value and what is possible.
func New(c Choice) (*Method, error) {
	row, err := lookup("algorithm_type", c.Type, Algorithms())
	if err != nil {
		return nil, err
	}
	if c.KLPenalty != "" && c.KLPenalty != "none" {
		return nil, fmt.Errorf("algorithm: kl_penalty_fn %q is not available; use none, and kl_loss_fn for a KL term in the loss", c.KLPenalty)
	}
	m := &Method{Name: c.Type, Schema: row.Schema}
	m.SampleStrategy = or(c.SampleStrategy, row.SampleStrategy)
	if m.SampleStrategy != "default" && m.SampleStrategy != "warmup" {
		return nil, fmt.Errorf("algorithm: sample_strategy %q is not available; use default", m.SampleStrategy)
	}
	if name := or(c.Advantage, row.Advantage); name != "" {
		if m.Advantage, err = build("advantage_fn", name, c.AdvantageArgs, Advantages()); err != nil {
			return nil, err
		}
	}
	m.Objective, err = newObjective(c, row)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func newObjective(c Choice, row Row) (o Objective, err error) {
	policyArgs, mode, err := aggregationMode(c)
	if err != nil {
		return o, err
	}
	o.Aggregation = mode
	if o.Policy, err = build("policy_loss_fn", or(c.PolicyLoss, row.PolicyLoss), policyArgs, PolicyLosses()); err != nil {
		return o, err
	}
	if o.KL, err = build("kl_loss_fn", or(c.KLLoss, row.KLLoss), c.KLLossArgs, KLs()); err != nil {
		return o, err
	}
	o.Entropy, err = build("entropy_loss_fn", or(c.Entropy, row.Entropy), c.EntropyArgs, Entropies())
	return o, err
}

// aggregationMode is algorithm.loss_agg_mode, or the loss_agg_mode among the policy loss's arguments when the former is
// not given, or token-mean; and the arguments without it. Two different modes are refused.
func aggregationMode(c Choice) (Args, Aggregation, error) {
	mode := c.AggregationMode
	rest := c.PolicyLossArgs
	if v, given := rest["loss_agg_mode"]; given {
		inner := fmt.Sprint(v)
		if mode != "" && mode != inner {
			return nil, "", fmt.Errorf("algorithm: loss_agg_mode is %q but policy_loss_fn_args.loss_agg_mode is %q; keep only loss_agg_mode", mode, inner)
		}
		mode = inner
		rest = maps.Clone(rest)
		delete(rest, "loss_agg_mode")
	}
	a, err := ParseAggregation(or(mode, string(TokenMean)))
	return rest, a, err
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func lookup[T any](key, name string, table map[string]T) (T, error) {
	v, ok := table[name]
	if !ok {
		return v, fmt.Errorf("algorithm: %s %q is not known; it is one of %v", key, name, slices.Sorted(maps.Keys(table)))
	}
	return v, nil
}

func build[T any](key, name string, args Args, table map[string]func(Args) (T, error)) (T, error) {
	var zero T
	construct, err := lookup(key, name, table)
	if err != nil {
		return zero, err
	}
	v, err := construct(args)
	if err != nil {
		return zero, fmt.Errorf("algorithm: %s_args of %s: %w", key, name, err)
	}
	return v, nil
}
