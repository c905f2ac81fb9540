// Package dapo grades as math_dapo_reward does: it compares spellings. detex*.go turn LaTeX into text as pylatexenc
// does.
package dapo

import (
	"regexp"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// Grade says whether an answer is the truth, as math_dapo_reward of Trinity-RFT 0.6.0 over verl 0.7.1 decides it:
// by spelling. Both have a sympy behind the spellings that never gets to run there (a function that cannot be sent to
// its process, a timeout that is not a context manager), so 0.25 is not 1/4, and neither is x+1 the same as 1+x. An
// answer with \pi is right only as it is spelled. Three comparisons in turn: two normal forms, then by value and part.
func Grade(answer, truth string) bool {
	if len(answer) > tex.MaxAnswer || len(truth) > tex.MaxAnswer {
		return answer == truth
	}
	if mathForm(answer) == mathForm(truth) {
		return true
	}
	got, want := plainForm(answer), plainForm(truth)
	if got == want || got != "" && want != "" && sameFractions(got, want) {
		return true
	}
	if strings.Contains(answer, `\pi`) || strings.Contains(truth, `\pi`) {
		return false
	}
	same, err := sameParts(answer, truth)
	return err == nil && same
}

// LastBox is the text in the braces after the last \boxed (without one, the last \fbox), "" if they do not close.
func LastBox(text string) string {
	i := strings.LastIndex(text, `\boxed`)
	if i < 0 {
		i = strings.LastIndex(text, `\fbox`)
	}
	if i < 0 {
		return ""
	}
	open, depth := -1, 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '{':
			if depth++; open < 0 {
				open = i
			}
		case '}':
			if depth--; depth == 0 && open >= 0 {
				return tex.TrimSpace(text[open+1 : i])
			}
		}
	}
	return ""
}

var spelledFraction = regexp.MustCompile(`^-?[0-9]+.?/0*[1-9][0-9]*.?\n?$`)

// sameFractions compares the parts of two tuples or intervals in plain form where all are fractions of numbers: they
// must be spelled alike, so an unreduced fraction is not the reduced one.
func sameFractions(got, want string) bool {
	a, b := splitTuple(got), splitTuple(want)
	if len(a) != len(b) || len(b) > 1 && (got[0] != want[0] || got[len(got)-1] != want[len(want)-1]) {
		return false
	}
	for i := range a {
		if a[i] != b[i] || !spelledFraction.MatchString(a[i]) {
			return false
		}
	}
	return true
}

// splitTuple splits the text in one pair of brackets at commas, except commas inside numbers.
func splitTuple(text string) []string {
	text = ungroup(text)
	const pairs = "()[]"
	if n := len(text); n > 2 && strings.ContainsAny(text[:1], pairs) && strings.ContainsAny(text[n-1:], pairs) &&
		!strings.ContainsAny(text[1:n-1], pairs) {
		return stripped(text[1 : n-1])
	}
	return []string{text}
}

var thousands = regexp.MustCompile(`(\d),(\d\d\d)($|\D)`)

// ungroup takes the commas out of numbers that are grouped by thousands.
func ungroup(text string) string {
	for {
		next := thousands.ReplaceAllString(text, "$1$2$3")
		if next == text {
			return text
		}
		text = next
	}
}
