package reward

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

var (
	numberRun  = regexp.MustCompile(`\d+`)
	calculable = regexp.MustCompile(`^[\d+\-*/().\s]+$`)
)

// Countdown is countdown_reward. The truth is JSON {"target": …, "numbers": […]}; the equation is in the last
// answer tag of the response's last line. The score is 0 without one, 1 if it uses every number exactly once
// and its value is the target to within 1e-5, and 0.1 otherwise.
func Countdown(s Sample) (Scores, error) {
	var truth struct {
		Target  *float64
		Numbers *[]int64
	}
	err := json.Unmarshal([]byte(s.Truth), &truth)
	if err == nil && (truth.Target == nil || truth.Numbers == nil) {
		err = errors.New("target or numbers is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("reward: countdown_reward wants the truth to be {\"target\": …, \"numbers\": […]}, "+
			"got %.80q: %w", s.Truth, err)
	}
	equation, found := lastEquation(s.Response)
	if !found {
		return Scores{{"score", 0}}, nil
	}
	if len(equation) <= tex.MaxAnswer && usesExactly(equation, *truth.Numbers) && hits(equation, *truth.Target) {
		return Scores{{"score", 1}}, nil
	}
	return Scores{{"score", 0.1}}, nil
}

// lastEquation is the content of the last answer tag in the last line.
func lastEquation(response string) (equation string, found bool) {
	line := response[strings.LastIndexByte(response, '\n')+1:]
	for content, rest, ok := answerTag(line); ok; content, rest, ok = answerTag(rest) {
		equation, found = strings.TrimSpace(content), true
	}
	return equation, found
}

func usesExactly(equation string, numbers []int64) bool {
	var want, got []string
	for _, n := range numbers {
		want = append(want, fmt.Sprint(n))
	}
	for _, n := range numberRun.FindAllString(equation, -1) {
		if n = strings.TrimLeft(n, "0"); n == "" {
			n = "0"
		}
		got = append(got, n)
	}
	slices.Sort(want)
	slices.Sort(got)
	return slices.Equal(got, want)
}

func hits(equation string, target float64) bool {
	if !calculable.MatchString(equation) {
		return false
	}
	value, goal := expression.Value(equation), new(big.Rat).SetFloat64(target)
	if value == nil || goal == nil {
		return false
	}
	off := new(big.Rat).Sub(value, goal)
	return off.Abs(off).Cmp(big.NewRat(1, 100_000)) < 0
}
