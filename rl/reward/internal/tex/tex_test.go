package tex

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestMeasures compares the dropping of units with its expressions.
func TestMeasures(t *testing.T) {
	var words []string
	var all []*regexp.Regexp
	for _, plural := range []string{"", "s"} {
		for _, w := range strings.Split(measureWords, "|") {
			words = append(words, w+plural)
			all = append(all, regexp.MustCompile(`(^|[^\p{L}\p{N}_])`+w+plural+`($|[^\p{L}\p{N}_])`))
		}
	}
	rnd := rand.New(rand.NewPCG(9, 10))
	between := []string{" ", " ", "  ", "", ".", "-", "5", "x", "é", "\xff"}
	for range 300 {
		var b strings.Builder
		for range rnd.IntN(8) {
			b.WriteString(words[rnd.IntN(len(words))] + between[rnd.IntN(len(between))])
		}
		want := b.String()
		for range 2 {
			for _, re := range all {
				if s := re.ReplaceAllString(want, "$1$2"); s != "" {
					want = s
				}
			}
		}
		if got := dropMeasures(b.String()); got != want {
			t.Fatalf("dropMeasures(%q) = %q, want %q", b.String(), got, want)
		}
	}
}

// TestOpenBoxes: a text full of boxes costs no more than its length, and gives what reading them one by one gives.
func TestOpenBoxes(t *testing.T) {
	for text, want := range map[string]string{
		`\boxed{1} and \boxed{2}`: "1,2", `\boxed{1}\fbox{2}, \boxed{2}`: "1,2", `\boxed{1} \boxed{2`: "{2",
		`\boxed {1}`: "1", `\boxed`: `\boxed`,
		`\boxed{\boxed{1}}`: "1", `a`: "a", `\boxed5`: "5",
	} {
		if got := OpenBoxes(text, AllBoxes); got != want {
			t.Errorf("openBoxes(%q) = %q, want %q", text, got, want)
		}
	}
}
