package spell

import "strings"

// Nearest is the known word that a misspelt one was probably meant to be: at most a third of its letters away, and at
// least one. Of words that are equally near, one of the same length wins, then the first. "" if none is near.
func Nearest(word string, known []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, k := range known {
		d := Distance(strings.ToLower(word), k)
		if d < least || d == least && len(k) == len(word) && len(best) != len(word) && best != "" {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean is "; did you mean WORD?" with the nearest known word, or "" if none is near.
func DidYouMean(word string, known []string) string {
	near := Nearest(word, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}
