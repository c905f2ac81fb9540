package reward

import (
	"fmt"
	"regexp"
	"strings"
)

var amount = regexp.MustCompile(`^(-?[\d.,]+)\s*(million|billion|trillion)$`)

// MathDAPO is math_dapo_reward: accuracy 1 or 0 of the last box behind the thinking (without one, of the whole text),
// and as format_score the penalty for an overlong answer when enable_overlong_penalty is set: with L tokens and E =
// max_response_length − cache_length it is 0 up to E, −penalty_factor above max_response_length, and (E −
// L)/cache_length·penalty_factor between (DAPO, arXiv 2503.14476, section 3.4).
func MathDAPO(s Sample) (Scores, error) {
	penalty, err := overlong(s)
	if err != nil {
		return nil, err
	}
	text := s.Response
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i+len("</think>"):]
	}
	if box, ok := lastBoxContent(text); ok {
		text = box
	}
	return Scores{{"accuracy", oneIf(gradeDAPO(text, s.Truth))}, {"format_score", penalty}}, nil
}

func gradeDAPO(got, want string) bool {
	if len(got) > maxAnswer { // prose without a box, not an answer
		return false
	}
	a, b := stripString(spellOut(got)), stripString(spellOut(want))
	if a == "" || b == "" {
		return false
	}
	if strings.EqualFold(a, b) {
		return true
	}
	if x, isNumber := decimal(b); isNumber && x == float64(int64(x)) { // a whole truth wants the number itself
		y, ok := decimal(a)
		return ok && x == y
	}
	return verify(readAnswer("$"+b+"$", defaultReading()), readAnswer("$"+a+"$", defaultReading()))
}

// spellOut writes a number of millions and so on in digits.
func spellOut(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	m := amount.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	v, ok := decimal(m[1])
	if !ok {
		return text
	}
	return fmt.Sprintf("%.0f", v*map[string]float64{"million": 1e6, "billion": 1e9, "trillion": 1e12}[m[2]])
}

// overlong is the penalty on the response's length, 0 where it is not enabled.
func overlong(s Sample) (float64, error) {
	on, err := argument(s.Args, "enable_overlong_penalty", false)
	if err != nil || !on {
		return 0, err
	}
	v := map[string]float64{}
	for _, name := range []string{"penalty_factor", "max_response_length", "cache_length"} {
		if s.Args[name] == nil {
			return 0, fmt.Errorf("reward: math_dapo_reward with enable_overlong_penalty needs reward_fn_args.%s", name)
		}
		if v[name], err = number64(s.Args, name, 0); err != nil {
			return 0, err
		}
	}
	most, cache, length := v["max_response_length"], v["cache_length"], float64(len(s.ResponseTokens))
	if cache <= 0 || most <= cache {
		return 0, fmt.Errorf("reward: math_dapo_reward: cache_length %g must be above 0 and below max_response_length %g", cache, most)
	}
	switch expected := most - cache; {
	case length < expected:
		return 0, nil
	case length > most:
		return -v["penalty_factor"], nil
	default:
		return (expected - length) / cache * v["penalty_factor"], nil
	}
}
