package edge

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// hider replaces the folders of this machine in texts for clients, the longest first.
func hider(private map[string]string) *strings.Replacer {
	folders := slices.SortedFunc(maps.Keys(private),
		func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, f := range folders {
		if f != "" {
			pairs = append(pairs, f, private[f])
		}
	}
	return strings.NewReplacer(pairs...)
}

// Hide returns a text without the folders of this machine. The log has the original text.
func (s *Edge) Hide(text string) string { return s.hider.Replace(text) }
