package reward

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/extract"
)

// Explain returns what the named function of Funcs reads in a response, "" if it finds nothing. ok is false for
// functions that compare nothing, and for functions of other programs.
func Explain(name, response string) (extracted string, ok bool) {
	switch name {
	case "math_reward":
		text := strings.TrimSpace(answerText(response))
		if plainNumber(text) { // most answers are such a number, which reads as it is
			return text, true
		}
		return spelling(text, extract.Default()), true
	case "accuracy_reward":
		return spelling(response, extract.Reading{Latex: true, FirstOnly: true, Units: true, Equations: true}), true
	case "math_boxed_reward":
		extracted, _ = lastBoxContent(response)
		return extracted, true
	case "countdown_reward":
		line := response[strings.LastIndexByte(response, '\n')+1:]
		for content, rest, ok := answerTag(line); ok; content, rest, ok = answerTag(rest) {
			extracted = strings.TrimSpace(content)
		}
		return extracted, true
	}
	return "", false
}

// Expected returns what such a function compares that with: its reading of the truth.
func Expected(name, truth string) string {
	switch name {
	case "math_reward":
		return spelling(answerText(truth), extract.Default())
	case "math_boxed_reward":
		if content, ok := lastBoxContent(truth); ok {
			return content
		}
	}
	return truth
}

// plainNumber reports whether a text is a short number in digits.
func plainNumber(text string) bool {
	const longest = 16
	digits := strings.TrimPrefix(text, "-")
	return digits != "" && len(digits) <= longest && strings.Trim(digits, "0123456789") == ""
}

// spelling is the answer in a text as it is spelled there.
func spelling(text string, r extract.Reading) string {
	list := extract.Answer(text, r)
	if len(list) == 0 {
		return ""
	}
	return strings.TrimSpace(list[len(list)-1].Text)
}
