package taskprep

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-d9ad8ee0/trinity/internal/arg"
)

// textFilter keeps the rows whose text's measure lies within bounds.
type textFilter struct {
	bounds
	stat, key string
	measure   func(text []rune) float64
}

// measure makes the filter of a measure with its bounds' names and the default of the lower one.
func (s Surroundings) measure(stat string, f func([]rune) float64, lowName string, low float64, highName string) Make {
	return func(args map[string]any) (Operator, error) {
		a := arg.Read(args)
		t := &textFilter{boundsOf(a, lowName, low, highName, math.Inf(1)), stat, a.Text("text_key", s.TextKey), f}
		if stat == "alnum_ratio" && a.Bool("tokenization", false) {
			a.Wrong("tokenization", true, "false: the ratio is of characters, not of a certain model's tokens")
		}
		return t, a.Close()
	}
}

func (s Surroundings) newRepetition(args map[string]any) (Operator, error) {
	a := arg.Read(args)
	n := a.Int("rep_len", 10, 0)
	if n < 1 {
		a.Wrong("rep_len", n, "1 or more")
	}
	t := &textFilter{boundsOf(a, "min_ratio", 0, "max_ratio", 0.5), "char_rep_ratio", a.Text("text_key", s.TextKey),
		func(text []rune) float64 { return repetition(text, n) }}
	return t, a.Close()
}

// Process implements Operator.
func (t *textFilter) Process(_ context.Context, list []*Sample) (kept []*Sample, _ map[string]float64, err error) {
	for _, s := range list {
		text, err := textOf(s.Row, t.key)
		if err != nil {
			return nil, nil, err
		}
		s.Stats[t.stat] = t.measure([]rune(text))
		if t.keep(s.Stats[t.stat]) {
			kept = append(kept, s)
		}
	}
	return kept, nil, nil
}

func textLength(text []rune) float64 { return float64(len(text)) }

func averageLine(text []rune) float64 {
	if n := len(lines(text)); n > 0 {
		return float64(len(text)) / float64(n)
	}
	return 0
}

func longestLine(text []rune) float64 {
	most := 0
	for _, l := range lines(text) {
		most = max(most, l)
	}
	return float64(most)
}

// lines are the lengths of a text's lines as Python's splitlines has them.
func lines(text []rune) (lengths []int) {
	n := 0
	for i, r := range text {
		switch {
		case r == '\n' && i > 0 && text[i-1] == '\r':
			continue // the line has ended
		case strings.ContainsRune("\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", r):
			lengths, n = append(lengths, n), 0
		default:
			n++
			if i == len(text)-1 {
				lengths = append(lengths, n)
			}
		}
	}
	return lengths
}

func alphanumeric(text []rune) float64 {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			n++
		}
	}
	if len(text) == 0 {
		return 0
	}
	return float64(n) / float64(len(text))
}

// repetition is the share that the most frequent n-grams of characters have of all: as many kinds of them as the root
// of the number of kinds, but none that occurs once.
func repetition(text []rune, n int) float64 {
	counts := map[string]int{}
	for i := 0; i+n <= len(text); i++ {
		counts[string(text[i:i+n])]++
	}
	if len(counts) == 0 {
		return 0
	}
	var often []int
	total := 0
	for _, c := range counts {
		total += c
		if c > 1 {
			often = append(often, c)
		}
	}
	slices.Sort(often)
	slices.Reverse(often)
	sum := 0
	for _, c := range often[:min(len(often), int(math.Sqrt(float64(len(counts)))))] {
		sum += c
	}
	return float64(sum) / float64(total)
}
