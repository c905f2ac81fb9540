package modeldir

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// runOf is the character that a token repeats, "" if it has others.
func runOf(token string) string {
	_, size := utf8.DecodeRuneInString(token)
	if of := token[:size]; of != "" && strings.Repeat(of, len(token)/size) == token {
		return of
	}
	return ""
}

// checkRuns returns an error if the merges in the order of scored cut some run of a character differently from
// llama.cpp. Runs are tried up to four times the longest token.
func (v vocabulary) checkRuns(of string, scores []float64) error {
	ids, longest := map[int]int{}, 0 // by length
	for id, s := range v.tokens {
		if !v.cut(id) && runOf(s) == of {
			n := len(s) / len(of)
			ids[n], longest = id, max(longest, n)
		}
	}
	leftmost := func(a, b split) int { return cmp.Compare(scores[b.id], scores[a.id]) }
	for n := 2; n <= 4*longest; n++ {
		want := mergeRun(n, ids, leftmost)
		got := mergeRun(n, ids, func(a, b split) int { return compareSplits(a, b, scores) })
		if !slices.Equal(got, want) {
			return fmt.Errorf("tokens of %q repeated have one score, and llama.cpp cuts a run of %d into %v, which a "+
				"tokenizer.json cannot say (it would be %v); use the model's Hugging Face folder", of, n, want, got)
		}
	}
	return nil
}

// mergeRun merges a run of n equal characters: of all neighbours that make a token, those that come first, the leftmost
// of equals. It returns the lengths of the parts.
func mergeRun(n int, ids map[int]int, compare func(a, b split) int) []int {
	parts := slices.Repeat([]int{1}, n)
	for {
		best, at := split{}, 0
		for i := 1; i < len(parts); i++ {
			id, there := ids[parts[i-1]+parts[i]]
			if way := (split{id, parts[i-1]}); there && (at == 0 || compare(way, best) < 0) {
				best, at = way, i
			}
		}
		if at == 0 {
			return parts
		}
		parts[at-1] += parts[at]
		parts = slices.Delete(parts, at, at+1)
	}
}
