package reward

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	announcement = regexp.MustCompile(`(?i)(?:final answer is|the answer is):?|(?:最终答案是|答案是)[:：]?`)
	lastNumber   = regexp.MustCompile(`-?\d*\.?\d+`)
	bracketed    = regexp.MustCompile(`^[\[(](.+)[\])]$`)
	matrixBody   = regexp.MustCompile(`(?s)^\\begin\{pmatrix\}(.*)\\end\{pmatrix\}$`)
)

// ExtractAnswer finds the answer of a solution as the evaluation code of Qwen2.5-Math does: the content of the last box, else what
// follows "the answer is" on its line, else the last number. ok is false when there is none.
func ExtractAnswer(text string) (answer string, ok bool) {
	if i := strings.LastIndex(text, "boxed"); i >= 0 {
		return afterBoxed(text[i+len("boxed"):])
	}
	if m := announcement.FindAllStringIndex(text, -1); m != nil {
		rest, _, _ := strings.Cut(text[m[len(m)-1][1]:], "\n")
		return strings.TrimSuffix(strings.TrimSpace(rest), "."), true
	}
	numbers := lastNumber.FindAllString(strings.ReplaceAll(text, ",", ""), -1)
	if len(numbers) == 0 {
		return "", false
	}
	return numbers[len(numbers)-1], true
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
	end := closingBrace(rest, 0)
	if end < 0 {
		end = len(rest)
	}
	inside := strings.TrimSpace(rest[1:end])
	return inside, inside != ""
}

// SameAnswer is the verdict of math_eval_workflow: whether the answers of a solution and of the truth are equal, as texts once normalised,
// as numbers (within 1e-4, and a percentage as its fraction), as intervals, matrices or equations, or as expressions.
func SameAnswer(solution, truth string) bool {
	got, ok := ExtractAnswer(solution)
	want, has := ExtractAnswer(truth)
	percent := strings.NewReplacer(`\%`, "%")
	return ok && has && equalAnswers(stripString(percent.Replace(got)), stripString(percent.Replace(want)))
}

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
	if a, b := bracketed.FindStringSubmatch(got), bracketed.FindStringSubmatch(want); a != nil && b != nil && got[0] == want[0] && got[len(got)-1] == want[len(want)-1] {
		return equalParts(strings.Split(a[1], ","), strings.Split(b[1], ","))
	}
	if a, b := matrixBody.FindStringSubmatch(got), matrixBody.FindStringSubmatch(want); a != nil && b != nil {
		return equalMatrices(a[1], b[1])
	}
	return verify(readAnswer("$"+want+"$", defaultReading()), readAnswer("$"+got+"$", defaultReading()))
}

func equalMatrices(a, b string) bool {
	rowsA, rowsB := strings.Split(a, `\\`), strings.Split(b, `\\`)
	if len(rowsA) != len(rowsB) {
		return false
	}
	for i := range rowsA {
		if !equalParts(strings.Split(rowsA[i], "&"), strings.Split(rowsB[i], "&")) {
			return false
		}
	}
	return true
}

func equalParts(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalAnswers(strings.TrimSpace(a[i]), strings.TrimSpace(b[i])) {
			return false
		}
	}
	return true
}

// decimal reads a plain number, with commas between thousands or a percent sign behind it.
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
