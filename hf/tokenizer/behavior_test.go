package tokenizer

import (
	"slices"
	"testing"
)

// Matches without a character cut the text, as in tokenizers 0.23: SuperBPE groups digits by three from the right so.
func TestEmptyMatchesCut(t *testing.T) {
	for _, tt := range []struct {
		pattern, behavior, text string
		want                    []string
	}{
		{`(?=(\d{3})+(?!\d))`, "Isolated", "1234567", []string{"1", "234", "567"}},
		{`(?=(\d{3})+(?!\d))`, "Isolated", "123", []string{"123"}},
		{`(?=(\d{3})+(?!\d))`, "Removed", "a1234", []string{"a1", "234"}},
		{`(?=b)`, "MergedWithPrevious", "axxb", []string{"axx", "b"}},
		{`x*`, "Isolated", "axxb", []string{"a", "xx", "b"}},
		{`x*`, "Removed", "axxb", []string{"a", "b"}},
		{`x*`, "Contiguous", "123", []string{"1", "2", "3"}},
	} {
		s, err := parseSplit(preTokenizerPart{Pattern: patternPart{Regex: &tt.pattern}, Behavior: tt.behavior})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.split(nil, tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s of %q by %s: %q, want %q", tt.behavior, tt.text, tt.pattern, got, tt.want)
		}
	}
}
