package reward

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/dapo"
)

// MathDAPO is math_dapo_reward of Trinity-RFT 0.6.0. accuracy is 1 or -1 for the last box after the thinking or,
// without one, for what follows the last "Answer:" on its line, as DAPO's prompt asks for it and verl's math_dapo reads
// it, or for the whole text. (Without a box upstream reads 20 characters of the text, so that no such answer is right.)
// format_score is the penalty for an overlong answer if enable_overlong_penalty is set: with L tokens and E =
// max_response_length − cache_length it is 0 up to E, −penalty_factor above max_response_length, and (E −
// L)/cache_length·penalty_factor between (DAPO, arXiv 2503.14476, section 3.4); a cache_length of 0 leaves
// nothing between.
func MathDAPO(s Sample) (Scores, error) {
	penalty, err := overlong(s)
	if err != nil {
		return nil, err
	}
	right := dapo.Grade(dapoAnswer(s.Response, true), s.Truth)
	return Scores{{"accuracy", float64(2*oneIf(right)) - 1}, {"format_score", penalty}}, nil
}

// Before06 is the named function of Funcs as it was when this program followed Trinity-RFT 0.5.2; nil where nothing has
// changed. Of math_dapo_reward accuracy is 1 or 0, for the last box or the whole text.
func Before06(name string) Func {
	if name != "math_dapo_reward" {
		return nil
	}
	return func(s Sample) (Scores, error) {
		penalty, err := overlong(s)
		if err != nil {
			return nil, err
		}
		right := dapo.Grade(dapoAnswer(s.Response, false), s.Truth)
		return Scores{{"accuracy", oneIf(right)}, {"format_score", penalty}}, nil
	}
}

var answerLine = regexp.MustCompile(`(?i)\banswer\s*:[ \t*]*([^\n]*[^\n\s*])`)

// dapoAnswer is what math_dapo_reward grades of a response; lines says that a line may name the answer.
func dapoAnswer(text string, lines bool) string {
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i+len("</think>"):]
	}
	if box := dapo.LastBox(text); box != "" {
		return box
	}
	if all := answerLine.FindAllStringSubmatch(text, -1); lines && len(all) > 0 {
		return all[len(all)-1][1]
	}
	return text
}

// overlong is the penalty on the response's length, 0 where it is not enabled.
func overlong(s Sample) (float64, error) {
	given := arg.Read(s.Args)
	if !given.Bool("enable_overlong_penalty", false) {
		return 0, rewardArgs(given)
	}
	v := map[string]float64{}
	for _, name := range []string{"penalty_factor", "max_response_length", "cache_length"} {
		given.Require(given.Given(name), name, nil, "given with enable_overlong_penalty")
		v[name] = given.Float(name, 0)
	}
	if err := rewardArgs(given); err != nil {
		return 0, err
	}
	most, cache, length := v["max_response_length"], v["cache_length"], float64(len(s.ResponseTokens))
	if cache < 0 || most <= cache {
		return 0, fmt.Errorf("reward: math_dapo_reward: cache_length %g must be 0 or more and below "+
			"max_response_length %g", cache, most)
	}
	switch expected := most - cache; {
	case length <= expected:
		return 0, nil
	case length > most:
		return -v["penalty_factor"], nil
	default:
		return (expected - length) / cache * v["penalty_factor"], nil
	}
}

// rewardArgs returns the mistakes in the arguments that were read. Others may be the workflow's.
func rewardArgs(given *arg.Reader) error {
	if err := given.Err(); err != nil {
		return fmt.Errorf("reward: reward_fn_args.%w", err)
	}
	return nil
}
