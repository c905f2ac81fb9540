// Package algorithm is the mathematics of reinforcement fine-tuning: from rewards to advantages, and from
// log-probabilities, masks and advantages to a loss and its derivative with respect to each log-probability. Everything
// is a pure function of its arguments; there is no model, no file and no goroutine here.
//
// Names, arguments and defaults are Trinity-RFT's, as in its section `algorithm`. Each kind of function has one
// visible table (Advantages, LateAdvantages, PolicyLosses, KLs, Entropies, SampleStrategies), and internal/recipe says
// which of them an algorithm type uses.
//
// In each step a trainer does the following; an interrupted step can be repeated.
//
//  1. Fetch for each experience what [Method.Needs] says: reference and teacher logprobs of the response, the critic's
//     values, the reward of a greedy response, exact entropies ([Fetched]).
//  2. Score: [Method.Score] turns rewards, less the KL penalty, into advantages and returns. Methods scored in the
//     explorer do nothing here. clipb and clipv replace an experience's ActionMask, so read masks afterwards.
//  3. Compute the loss: hand a [Sequence] for each experience to [Objective.Evaluate]. It returns the derivative by
//     each logprob, for tinker.ForwardBackwardCustom. If Needs().Logprobs is false, the extra forward can be left out.
//  4. Adapt coefficients (Adapted of the penalty and the KL), and commit them with the step.
//
// [SampleStrategy] says how many experiences to read from the usual buffer and from an expert's, and how old they may
// be.
//
// Arithmetic is float64 over float32 inputs and is rounded once, at the end.
package algorithm

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/internal/recipe"
)

// Choice is section algorithm of a configuration. An empty name means the algorithm's own; arguments left out
// have the function's documented default (Trinity-RFT drops all defaults as soon as one argument is given).
type Choice struct {
	Type            string `yaml:"algorithm_type"`
	SampleStrategy  string `yaml:"sample_strategy"`
	SampleArgs      Args   `yaml:"sample_strategy_args"`
	Advantage       string `yaml:"advantage_fn"`
	AdvantageArgs   Args   `yaml:"advantage_fn_args"`
	KLPenalty       string `yaml:"kl_penalty_fn"`
	KLPenaltyArgs   Args   `yaml:"kl_penalty_fn_args"`
	PolicyLoss      string `yaml:"policy_loss_fn"`
	PolicyLossArgs  Args   `yaml:"policy_loss_fn_args"`
	KLLoss          string `yaml:"kl_loss_fn"`
	KLLossArgs      Args   `yaml:"kl_loss_fn_args"`
	Entropy         string `yaml:"entropy_loss_fn"`
	EntropyArgs     Args   `yaml:"entropy_loss_fn_args"`
	AggregationMode string `yaml:"loss_agg_mode"`

	Own Tables `yaml:"-"` // a program's own functions, beside those of this package
}

// Tables are functions that a program brings, by the names that its configurations use.
type Tables struct {
	Advantages   map[string]func(Args) (Advantage, error)
	PolicyLosses map[string]func(Args) (PolicyLoss, error)
}

// beside adds a program's own functions to a table.
func beside[T any](table, own map[string]T) map[string]T {
	maps.Copy(table, own)
	return table
}

// Names lists the functions that there are, a program's own included, by the key of section algorithm that chooses one.
func Names(own Tables) map[string][]string {
	var modes []string
	for _, a := range aggregations() {
		modes = append(modes, string(a))
	}
	kls := slices.Sorted(maps.Keys(KLs()))
	return map[string][]string{
		"sample_strategy": slices.Sorted(maps.Keys(SampleStrategies())),
		"advantage_fn":    advantageNames(own),
		"kl_penalty_fn":   kls,
		"policy_loss_fn":  slices.Sorted(maps.Keys(beside(PolicyLosses(), own.PolicyLosses))),
		"kl_loss_fn":      kls,
		"entropy_loss_fn": slices.Sorted(maps.Keys(Entropies())),
		"loss_agg_mode":   modes,
	}
}

func advantageNames(own Tables) []string {
	early := slices.Sorted(maps.Keys(beside(Advantages(), own.Advantages)))
	return slices.Sorted(slices.Values(slices.AppendSeq(early, maps.Keys(LateAdvantages()))))
}

// KeyError is an error about one key of section algorithm, such as policy_loss_fn_args. It wraps an
// [*arg.Error] for each wrong argument.
type KeyError struct {
	Key string
	Err error
}

// Error implements error.
func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *KeyError) Unwrap() error { return e.Err }

// Method is an algorithm ready to use.
type Method struct {
	Name string
	// what the explorer computes; it changes nothing when advantages are late, and is nil for data sets
	Advantage      Advantage
	Late           LateAdvantage // what the trainer computes, or nil
	Penalty        KL            // taken off the rewards of late advantages
	SampleStrategy SampleStrategy
	Objective      Objective
	Schema         string
}

// New resolves a choice against the tables. Its error joins one for each key that is wrong, a [*KeyError] where the key
// is known; each names the value and what is possible.
func New(c Choice) (*Method, error) {
	row, err := lookup("algorithm_type", c.Type, recipe.All())
	if err != nil {
		return nil, err
	}
	m := &Method{Name: c.Type, Schema: row.Schema}
	var errs [4]error
	strategy := or(c.SampleStrategy, row.SampleStrategy)
	m.SampleStrategy, errs[0] = build("sample_strategy", strategy, c.SampleArgs, SampleStrategies())
	errs[1] = m.newAdvantage(or(c.Advantage, row.Advantage), c.AdvantageArgs, c.Own)
	m.Penalty, errs[2] = build("kl_penalty_fn", or(c.KLPenalty, "none"), c.KLPenaltyArgs, KLs())
	m.Objective, errs[3] = newObjective(c, row)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if m.Penalty.estimate != nil && m.Late == nil {
		return nil, keyErrorf("kl_penalty_fn", "algorithm: kl_penalty_fn %q changes rewards in the trainer, where "+
			"advantage_fn %q is already computed; use none, and kl_loss_fn for a KL term in the loss",
			c.KLPenalty, or(c.Advantage, row.Advantage))
	}
	return m, nil
}

// newAdvantage finds the advantage function in one of its two tables.
func (m *Method) newAdvantage(name string, args Args, own Tables) (err error) {
	early, late := beside(Advantages(), own.Advantages), LateAdvantages()
	if name == "" && m.Schema != "experience" {
		return nil
	}
	m.Advantage = unscored{}
	switch {
	case name == "":
	case early[name] != nil:
		m.Advantage, err = build("advantage_fn", name, args, early)
	case late[name] != nil:
		m.Late, err = build("advantage_fn", name, args, late)
	default:
		err = keyErrorf("advantage_fn", "algorithm: advantage_fn %q is not known; it is one of %v", name,
			advantageNames(own))
	}
	return err
}

// Needs says what the method reads in the trainer, advantages, penalty and loss together.
func (m *Method) Needs() Needs {
	n := m.Objective.Needs()
	if m.Late != nil {
		n = n.or(m.Late.Needs())
	}
	if m.Penalty.Active() {
		n = n.or(Needs{Old: true, Ref: true})
	}
	return n
}

func newObjective(c Choice, row recipe.Recipe) (o Objective, err error) {
	policyArgs, mode, err := aggregationMode(c, row)
	if err != nil {
		return o, err
	}
	o.Aggregation = mode
	var errs [3]error
	policies := beside(PolicyLosses(), c.Own.PolicyLosses)
	o.Policy, errs[0] = build("policy_loss_fn", or(c.PolicyLoss, row.PolicyLoss), policyArgs, policies)
	o.KL, errs[1] = build("kl_loss_fn", or(c.KLLoss, row.KLLoss), c.KLLossArgs, KLs())
	o.Entropy, errs[2] = build("entropy_loss_fn", or(c.Entropy, row.EntropyLoss), c.EntropyArgs, Entropies())
	return o, errors.Join(errs[:]...)
}

// aggregationMode is algorithm.loss_agg_mode, or the loss_agg_mode among the policy loss's arguments when the former is
// not given, or the algorithm's own; and the arguments without it. Two different modes are refused; null is not given.
func aggregationMode(c Choice, row recipe.Recipe) (Args, Aggregation, error) {
	mode := c.AggregationMode
	rest := maps.Clone(c.PolicyLossArgs)
	delete(rest, "loss_agg_mode")
	if v := c.PolicyLossArgs["loss_agg_mode"]; v != nil {
		inner := fmt.Sprint(v)
		if mode != "" && mode != inner {
			return nil, "", keyErrorf("loss_agg_mode",
				"algorithm: loss_agg_mode is %q but policy_loss_fn_args.loss_agg_mode is %q; keep only loss_agg_mode",
				mode, inner)
		}
		mode = inner
	}
	a, err := ParseAggregation(or(mode, or(row.Aggregation, string(TokenMean))))
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
		return v, keyErrorf(key, "algorithm: %s %q is not known; it is one of %v", key, name,
			slices.Sorted(maps.Keys(table)))
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
		return zero, keyErrorf(key+"_args", "algorithm: %s_args of %s: %w", key, name, err)
	}
	return v, nil
}

func keyErrorf(key, format string, args ...any) error {
	return &KeyError{Key: key, Err: fmt.Errorf(format, args...)}
}
