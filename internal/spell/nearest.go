package spell

import "strings"

// nearest is the known word that a misspelt one probably stands for: at a distance of at most a third of its letters,
// and at most 1 for short words. Of equally near words one of the same length is preferred, then the first. "" if none
// is near.
func nearest(word string, known []string) string {
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
	near := nearest(word, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}
