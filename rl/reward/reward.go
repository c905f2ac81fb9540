// Package reward grades responses: one plain function per reward, found by its Trinity-RFT name in [Funcs].
//
// The mathematical rewards read an answer out of prose or LaTeX and compare it with the truth the way the Python
// package math_verify 0.9.0 does, because users compare with its numbers. The port covers the answers seen in practice:
// numbers, fractions, percentages, simple LaTeX expressions, sets, intervals, equations and inequalities, small
// matrices. It evaluates instead of simplifying symbolically: exactly over the rationals, else in complex floating
// point.  A response may be anything. Grading takes time linear in its length, and the work on an answer is bounded by
// counting, never by a clock, so that a verdict does not depend on the machine.
package reward

// Sample is one response to be graded.
type Sample struct {
	Prompt         string         // the task text, for rewards that look at it
	Response       string         // what the model wrote
	Truth          string         // the reference answer, possibly prose that ends in it
	ResponseTokens []int32        // the response's tokens, for rewards on length
	Args           map[string]any // reward_fn_args of the configuration and what the workflow adds
}

// Score is one named part of a reward.
type Score struct {
	Name  string
	Value float64
}

// Scores are the parts of a reward, in a fixed order.
type Scores []Score

// Total is the reward: the sum of the parts.
func (s Scores) Total() float64 {
	sum := 0.0
	for _, part := range s {
		sum += part.Value
	}
	return sum
}

// Get returns the part called name and whether there is one.
func (s Scores) Get(name string) (float64, bool) {
	for _, part := range s {
		if part.Name == name {
			return part.Value, true
		}
	}
	return 0, false
}

// Func grades one sample. It fails only when the sample lacks what the reward needs or an argument has the
// wrong type; an answer that cannot be read is a score, not an error. It is safe for concurrent use.
type Func func(Sample) (Scores, error)

// Funcs returns the table of rewards by the names the configuration uses.
func Funcs() map[string]Func {
	return map[string]Func{
		"math_reward":       Math,
		"math_boxed_reward": MathBoxed,
		"accuracy_reward":   Accuracy,
		"format_reward":     Format,
		"countdown_reward":  Countdown,
		"math_dapo_reward":  MathDAPO,
	}
}

// Arguments are the reward_fn_args that each function of Funcs reads; those not named read none.
func Arguments() map[string][]string {
	return map[string][]string{
		"math_boxed_reward": {"with_think", "format_score_coef"},
		"format_reward":     {"pattern"},
		"math_dapo_reward":  {"enable_overlong_penalty", "penalty_factor", "max_response_length", "cache_length"},
	}
}
