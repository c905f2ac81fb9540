// Package reward grades responses: one plain function per reward, found by its Trinity-RFT name in [Funcs].
//
// The mathematical rewards read an answer out of prose or LaTeX and compare it with the truth the way the Python
// package math_verify 0.9.0 does, because users compare with its numbers. The port covers the answers seen in practice:
// numbers, fractions, percentages, simple LaTeX expressions, sets, intervals, equations and inequalities, small
// matrices. It evaluates instead of simplifying symbolically: exactly over the rationals, else in complex floating
// point.
//
// A response may be anything. Grading takes time linear in its length, and the work on an answer is bounded by
// counting, never by a clock, so that a verdict does not depend on the machine.
package reward

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/extract"
)

// Sample is one response to be graded.
type Sample struct {
	Prompt         string         // the task text, for rewards that look at it
	Response       string         // what the model wrote
	Truth          string         // the reference answer, possibly prose that ends in it
	ResponseTokens []int32        // the response's tokens, for rewards on length
	Args           map[string]any // reward_fn_args of the configuration and what the workflow adds
	Columns        any            // the task's row, which functions of Python may ask for; it encodes as a JSON object
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

// grader is a row of the table of rewards.
type grader struct {
	grade     Func
	arguments []string                     // that it reads of reward_fn_args
	extracted func(response string) string // the answer that it compares; nil: it compares none
	expected  func(truth string) string    // what it compares that with; nil: the truth
}

// table is the table of rewards by the names that configurations use.
func table() map[string]grader {
	return map[string]grader{
		"math_reward": {grade: Math, extracted: mathAnswer,
			expected: func(truth string) string { return spelling(answerText(truth), extract.Default()) }},
		"math_boxed_reward": {grade: MathBoxed, arguments: []string{"with_think", "format_score_coef"},
			extracted: func(text string) string { content, _ := lastBoxContent(text); return content },
			expected:  boxOrAll},
		"accuracy_reward": {grade: Accuracy, extracted: func(text string) string {
			return spelling(text, extract.Reading{Latex: true, FirstOnly: true, Units: true, Equations: true})
		}},
		"exact_reward":    {grade: Exact, extracted: strings.TrimSpace, expected: strings.TrimSpace},
		"contains_reward": {grade: Contains},
		"json_reward":     {grade: JSON, extracted: firstJSON, expected: firstJSON},
		"format_reward":   {grade: Format, arguments: []string{"pattern"}},
		"countdown_reward": {grade: Countdown,
			extracted: func(text string) string { equation, _ := lastEquation(text); return equation }},
		"math_dapo_reward": {grade: MathDAPO, arguments: []string{"enable_overlong_penalty", "penalty_factor",
			"max_response_length", "cache_length"},
			extracted: func(text string) string { return dapoAnswer(text, true) }},
		"rlcr_reward": {grade: RLCR, arguments: []string{"weights"}, extracted: func(text string) string {
			answer, _, _ := rlcrChain(text)
			return spelling(answer, extract.Default())
		}},
	}
}

// Funcs returns the rewards by name.
func Funcs() map[string]Func {
	funcs := map[string]Func{}
	for name, g := range table() {
		funcs[name] = g.grade
	}
	return funcs
}

// Arguments returns the reward_fn_args that the named function of Funcs reads.
func Arguments(name string) []string { return table()[name].arguments }
