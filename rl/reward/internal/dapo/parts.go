package dapo

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// part is an answer or a piece of one: text, or the whole number that stood before the underscore of a base.
type part struct {
	text  string
	whole bool
}

const maxPart = 1000 // characters of an answer that sameParts looks at, as upstream

var (
	dollarNumber  = regexp.MustCompile(`^\$[0-9]`)
	percentNumber = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?(?:%|\\%)\n?$`)
	brackets      = regexp.MustCompile(`(?s)^[(\[].*[)\]]$`)
	sympyInterval = regexp.MustCompile(`^Interval(|\.Ropen|\.Lopen|\.open)\((.*)\)\n?$`)

	// A matrix of numbers, as a list or a list of rows; one of other entries is not read.
	sympyMatrix = regexp.MustCompile(`^Matrix\(\[[0-9-+., ]+\]\)$|^Matrix\(\[(?:\[[0-9-+., ]+\],? *)+\]\)$`)
	entry       = regexp.MustCompile(`[-+]?[0-9.]+`)

	errBase = errors.New("reward: a subscript after something that is not a number")
)

// sameParts compares as verl 0.7.1's PRIME grader does (after ToRA, Gou et al. 2023): by spelling, as numbers to 10⁻⁴
// of the larger one where a factor of 100 either way is a percentage, and intervals, tuples, lists and sympy's matrices
// part by part. It is an error where upstream raises one, which makes all of the answer wrong.
func sameParts(answer, truth string) (bool, error) {
	a, err := normalPart(answer)
	if err != nil {
		return false, err
	}
	b, err := normalPart(truth)
	if err != nil {
		return false, err
	}
	if utf8.RuneCountInString(a.text) > maxPart {
		a.text = string([]rune(a.text)[:maxPart])
	}
	x, y := strings.ToLower(tex.TrimSpace(a.text)), strings.ToLower(tex.TrimSpace(b.text))
	if !a.whole && !b.whole && (x == y || strings.ReplaceAll(a.text, " ", "") == strings.ReplaceAll(b.text, " ", "")) {
		return true, nil
	}
	if x, ok := commaNumber(a.text); ok {
		if y, ok := commaNumber(b.text); ok {
			return nearTo(y/100, x) || nearTo(y, x) || nearTo(float64(y*100), x), nil
		}
	}
	if a.text == "" {
		return false, nil
	}
	return sameShape(bracketForm(tex.TrimSpace(a.text)), tex.TrimSpace(b.text))
}

// sameShape compares what is not two numbers.
func sameShape(got, want string) (bool, error) {
	if bare(got, want, got) == bare(got, want, want) {
		return true, nil
	}
	if brackets.MatchString(got) && want != "" && got[0] == want[0] && got[len(got)-1] == want[len(want)-1] {
		if same, err := sameLists(inside(got), inside(want)); same || err != nil {
			return same, err
		}
	}
	if n := strings.Count(got, ","); n > 0 && n == strings.Count(want, ",") {
		return sameLists(stripped(got), stripped(want))
	}
	if strings.HasPrefix(got, "Point") && want != "" && want[0] == '(' && want[len(want)-1] == ')' {
		_, coordinates, _ := strings.Cut(got, "(")
		return sameLists(inside("("+coordinates), inside(want))
	}
	if m := sympyMatrix.FindString(got); m != "" && strings.Contains(want, `\begin{pmatrix}`) {
		return sameLists(entry.FindAllString(m, -1), everySecond(strings.Fields(want)))
	}
	return false, nil
}

// everySecond of the words of a pmatrix are its entries where spaces part all of it.
func everySecond(words []string) (entries []string) {
	for i := 1; i < len(words)-1; i += 2 {
		entries = append(entries, words[i])
	}
	return entries
}

// inside splits the text between the first and the last character at commas.
func inside(text string) []string {
	return strings.Split(text[min(1, len(text)):max(1, len(text)-1)], ",")
}

func stripped(text string) []string {
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = tex.TrimSpace(parts[i])
	}
	return parts
}

func sameLists(got, want []string) (bool, error) {
	if len(got) != len(want) {
		return false, nil
	}
	all := true
	for i := range got {
		same, err := sameParts(got[i], want[i])
		if err != nil {
			return false, err
		}
		all = all && same
	}
	return all, nil
}

// bare is text without braces and parentheses, and without the brackets around it if the answer is in a pair of
// them and the truth does not begin with the other kind.
func bare(got, want, text string) string {
	around := func(open, closing, other string) bool {
		return strings.HasPrefix(got, open) && strings.HasSuffix(got, closing) && !strings.HasPrefix(want, other)
	}
	if around("[", "]", "(") || around("(", ")", "[") {
		text = strings.Trim(text, "[]()")
	}
	return tex.RemoveAll(text, "{", "}", "(", ")")
}

// normalPart takes off a dollar, a percent sign and a base.
func normalPart(text string) (part, error) {
	switch {
	case dollarNumber.MatchString(text):
		return part{text: text[1:]}, nil
	case percentNumber.MatchString(text):
		return part{text: tex.RemoveAll(text, `\%`, "%")}, nil
	}
	before, _, ok := strings.Cut(text, "_")
	if !ok {
		return part{text: text}, nil
	}
	v, ok := pyFloat(before)
	if !ok || math.IsInf(v, 0) || math.IsNaN(v) {
		return part{}, errBase
	}
	return part{text: wholeText(math.Trunc(v)), whole: true}, nil
}

// commaNumber reads a number, commas in it aside; {,} alone counts as one where it occurs.
func commaNumber(text string) (float64, bool) {
	if strings.Contains(text, "{,}") {
		return pyFloat(strings.ReplaceAll(text, "{,}", ""))
	}
	return pyFloat(strings.ReplaceAll(text, ",", ""))
}

func nearTo(a, b float64) bool {
	if a == b {
		return true
	}
	return !math.IsInf(a, 0) && !math.IsInf(b, 0) && math.Abs(a-b) <= 1e-4*max(math.Abs(a), math.Abs(b))
}

// bracketForm writes sympy's intervals with brackets.
func bracketForm(text string) string {
	m := sympyInterval.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	open, closing := "[", "]"
	if m[1] == ".Lopen" || m[1] == ".open" {
		open = "("
	}
	if m[1] == ".Ropen" || m[1] == ".open" {
		closing = ")"
	}
	return open + m[2] + closing
}
