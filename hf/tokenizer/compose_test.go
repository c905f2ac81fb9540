package tokenizer

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// Texts of characters that compose, that are composed and that are left alone come out as x/text makes them.
func TestCompose(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	chars := []rune("aeA " +
		"é\u0301\u0308\u030a\u0323\u0327ÅΩ\u212b\u0958\u0344가\u1100\u1161\u11a8" +
		"각文、ー\u3099か🙂\U0001f3fd\U0002f800\U00020000\ufb1d\u2126,\n")
	c := &composer{}
	for range 20_000 {
		text := make([]rune, rnd.IntN(12))
		for i := range text {
			text[i] = chars[rnd.IntN(len(chars))]
		}
		s := string(text)
		if rnd.IntN(20) == 0 {
			s += "\xff\xcc"
		}
		if got, want := c.normalize(s), norm.NFC.String(s); got != want {
			t.Fatalf("NFC of %+q is %+q, want %+q", s, got, want)
		}
	}
	for r := rune(0); r < 0x110000; r++ { // alone, and after what it may compose with
		for _, s := range []string{string(r), "e" + string(r), "가" + string(r)} {
			if got, want := c.normalize(s), norm.NFC.String(s); got != want {
				t.Fatalf("NFC of %+q is %+q, want %+q", s, got, want)
			}
		}
	}
}
