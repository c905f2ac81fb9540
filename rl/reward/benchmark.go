package reward

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/extract"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

var (
	bracketed  = regexp.MustCompile(`^[\[(](.+)[\])]$`)
	matrixBody = regexp.MustCompile(`(?s)^\\begin\{pmatrix\}(.*)\\end\{pmatrix\}$`)
)

// ExtractAnswer finds the answer of a solution as the evaluation code of Qwen2.5-Math does: the content of the last
// box, else the line that follows "the answer is", else the last number. ok is false when there is none.
func ExtractAnswer(text string) (answer string, ok bool) {
	if i := strings.LastIndex(text, "boxed"); i >= 0 {
		return afterBoxed(text[i+len("boxed"):])
	}
	if i := afterAnnouncement(text); i >= 0 {
		line, _, _ := strings.Cut(text[i:], "\n")
		if line = strings.TrimSpace(line); line != "" {
			return strings.TrimSuffix(line, "."), true
		}
	}
	return extract.LastAnswer(strings.ReplaceAll(text, ",", ""))
}

// afterAnnouncement is the end of the last "the answer is" and its like, with a colon and the white space around it;
// -1 if there is none.
func afterAnnouncement(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case 's', 'S':
			for _, words := range []string{"final answer is", "the answer is"} {
				if from := i + 1 - len(words); from >= 0 && strings.EqualFold(text[from:i+1], words) {
					return len(text) - len(afterColon(text[i+1:]))
				}
			}
		case "是"[2]:
			if strings.HasSuffix(text[:i+1], "答案是") {
				return len(text) - len(afterColon(text[i+1:]))
			}
		}
	}
	return -1
}

// afterColon is text without the white space and the colon that it may begin with.
func afterColon(text string) string {
	text = strings.TrimLeftFunc(text, unicode.IsSpace)
	for _, colon := range []string{":", "："} {
		if rest, ok := strings.CutPrefix(text, colon); ok {
			return strings.TrimLeftFunc(rest, unicode.IsSpace)
		}
	}
	return text
}

func afterBoxed(rest string) (string, bool) {
	if rest == "" {
		return "", false
	}
	if rest[0] != '{' {
		end := strings.IndexAny(rest, "$}")
		if end < 0 {
			end = len(rest)
		}
		return strings.TrimSpace(rest[:end]), true
	}
	end := tex.ClosingBrace(rest, 0)
	if end < 0 {
		end = len(rest)
	}
	inside := strings.TrimSpace(rest[1:end])
	return inside, inside != ""
}

// SameAnswer is the verdict of math_eval_workflow: whether the answers of a solution and of the truth are equal, as
// texts once normalised, as numbers (within 1e-4, and a percentage as its fraction), as intervals, matrices or
// equations, or as expressions.
func SameAnswer(solution, truth string) bool {
	got, ok := ExtractAnswer(solution)
	return ok && slices.ContainsFunc(expected(truth), func(want string) bool {
		if len(got) > tex.MaxAnswer { // longer than any answer
			return got == want
		}
		percent := strings.NewReplacer(`\%`, "%")
		return equalAnswers(tex.StripString(percent.Replace(got)), tex.StripString(percent.Replace(want)))
	})
}

// expected are the answers that a truth accepts: the one that a solution ends with; the whole truth if it names no
// answer; either if it is a number or has words beside it. So \frac{14}{3} is not 3.
func expected(truth string) (list []string) {
	if found, ok := ExtractAnswer(truth); ok {
		list = append(list, found)
	}
	if strings.Contains(truth, "boxed") || afterAnnouncement(truth) >= 0 || strings.Contains(truth, "####") ||
		strings.Contains(strings.TrimSpace(truth), "\n") || len(truth) > tex.MaxAnswer {
		return list
	}
	bare := tex.PlainText.ReplaceAllString(tex.BoxOfText.ReplaceAllString(truth, ""), "")
	if _, plain := decimal(tex.StripString(bare)); !plain && !slices.ContainsFunc(strings.Fields(bare), isWord) {
		list = nil
	}
	return append(list, truth)
}

// isWord tells apples from x and \pi.
func isWord(field string) bool {
	field = strings.Trim(field, ".,;:!?")
	return utf8.RuneCountInString(field) > 1 && strings.IndexFunc(field, isNoLetter) < 0
}

func isNoLetter(r rune) bool { return !unicode.IsLetter(r) }

func equalAnswers(got, want string) bool {
	if got == "" || want == "" {
		return false
	}
	if strings.EqualFold(got, want) {
		return true
	}
	if x, ok := decimal(got); ok {
		if y, ok := decimal(want); ok {
			return near(x, y/100) || near(x, y) || near(x, float64(y*100))
		}
	}
	if a, b := bracketed.FindStringSubmatch(got), bracketed.FindStringSubmatch(want); a != nil && b != nil &&
		got[0] == want[0] && got[len(got)-1] == want[len(want)-1] {
		return equalParts(strings.Split(a[1], ","), strings.Split(b[1], ","))
	}
	if a, b := matrixBody.FindStringSubmatch(got), matrixBody.FindStringSubmatch(want); a != nil && b != nil {
		return equalMatrices(a[1], b[1])
	}
	read := func(text string) []expression.Answer { return extract.Answer("$"+text+"$", extract.Default()) }
	return expression.Agree(read(want), read(got))
}

func equalMatrices(a, b string) bool {
	rowsA, rowsB := strings.Split(a, `\\`), strings.Split(b, `\\`)
	return slices.EqualFunc(rowsA, rowsB, func(a, b string) bool {
		return equalParts(strings.Split(a, "&"), strings.Split(b, "&"))
	})
}

func equalParts(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool {
		return equalAnswers(strings.TrimSpace(a), strings.TrimSpace(b))
	})
}

// decimal reads a plain number, with commas between thousands or a percent sign after it.
func decimal(s string) (float64, bool) {
	s = strings.ReplaceAll(s, ",", "")
	if rest, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(rest, 64)
		return v / 100, err == nil
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

func near(x, y float64) bool { return math.Abs(x-y) <= float64(1e-4*max(math.Abs(x), math.Abs(y))) }
