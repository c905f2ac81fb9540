package reward

import (
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/extract"
)

// Explain returns what the named function of Funcs reads in a response, "" if it finds nothing. ok is false for
// functions that compare nothing, and for functions of other programs.
func Explain(name, response string) (extracted string, ok bool) {
	read := table()[name].extracted
	if read == nil {
		return "", false
	}
	return read(response), true
}

// Expected returns what such a function compares that with: its reading of the truth.
func Expected(name, truth string) string {
	if read := table()[name].expected; read != nil {
		return read(truth)
	}
	return truth
}

// mathAnswer is the answer that math_reward reads.
func mathAnswer(response string) string {
	text := strings.TrimSpace(answerText(response))
	if plainNumber(text) { // most answers are such a number, which reads as it is
		return text
	}
	return spelling(text, extract.Default())
}

// boxOrAll is the content of the last box, or the whole text without one.
func boxOrAll(text string) string {
	if content, ok := lastBoxContent(text); ok {
		return content
	}
	return text
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
