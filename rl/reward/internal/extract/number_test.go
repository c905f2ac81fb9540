package extract

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestLastNumber compares lastNumber with its expression, on random texts.
func TestLastNumber(t *testing.T) {
	number := regexp.MustCompile(`-?\d*\.?\d+`)
	parts := strings.Split(` |x|:|1|23|.|-|-4.5|a|é|%|0|,`, "|")
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		var b strings.Builder
		for range rnd.IntN(10) {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		text, last := b.String(), ""
		found := number.FindAllString(text, -1)
		if found != nil {
			last = found[len(found)-1]
		}
		if got, ok := lastNumber(text); got != last || ok != (found != nil) {
			t.Fatalf("lastNumber(%q) = %q, want %q", text, got, last)
		}
	}
}
