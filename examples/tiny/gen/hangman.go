package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
)

// hangmanTeacher guesses the letter that occurs in most of the remaining words, alphabetically first among equals. When
// at most two words remain it guesses one of them.
func hangmanTeacher(words []string) teacher {
	letter := regexp.MustCompile(`guessed a letter '([A-Z])'`)
	word := regexp.MustCompile(`You guessed '([A-Z]+)'`)
	grid := regexp.MustCompile(`(?m)^((?:  [A-Z_] )+)$`)
	return func(seen string, r *rng.Stream) (string, error) {
		var tried, wrong string
		for _, m := range letter.FindAllStringSubmatch(seen, -1) {
			tried += strings.ToLower(m[1])
		}
		for _, m := range word.FindAllStringSubmatch(seen, -1) {
			wrong += " " + strings.ToLower(m[1])
		}
		grids := grid.FindAllStringSubmatch(seen, -1)
		if len(grids) == 0 {
			return "", fmt.Errorf("gen: no grid in %q", seen)
		}
		shown := strings.ToLower(strings.ReplaceAll(grids[len(grids)-1][1], " ", ""))
		left := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
			return strings.Contains(wrong, w) || !fits(w, shown, tried)
		})
		switch {
		case len(left) == 0:
			return "", fmt.Errorf("gen: no word fits %q", seen)
		case len(left) <= 2:
			return `\boxed{` + choose(r, left) + `}`, nil
		}
		return `\boxed{` + string(commonest(left, tried)) + `}`, nil
	}
}

// fits reports whether a word can be behind what is shown, '_' for letters that were not tried.
func fits(word, shown, tried string) bool {
	for i := range len(word) {
		if shown[i] == '_' && strings.IndexByte(tried, word[i]) >= 0 || shown[i] != '_' && shown[i] != word[i] {
			return false
		}
	}
	return len(word) == len(shown)
}

// commonest is the letter in most of the words, of those that were not tried.
func commonest(words []string, tried string) byte {
	best, most := byte('a'), -1
	for c := byte('a'); c <= 'z'; c++ {
		n := 0
		for _, w := range words {
			if strings.IndexByte(w, c) >= 0 {
				n++
			}
		}
		if n > most && strings.IndexByte(tried, c) < 0 {
			best, most = c, n
		}
	}
	return best
}
