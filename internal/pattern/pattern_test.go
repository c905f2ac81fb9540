package pattern

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dlclark/regexp2"
)

// expressions are split patterns of tokenizers in use, and expressions for the parts of the engine.
var expressions = []string{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|` +
		`\s+(?!\S)|\s+`,
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| " +
		"?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` +
		`\p{N}{1,3}|\s+(?!\S)|\s+`,
	`\w+|[^\w\s]+`, `\s`, `\d+`, `[\S\d]+`, `[^\W_]+`, `a*`, `(a|b)*?c`, `(a*)(b*)`, `(a+)+b`, `(a|ab)(c|bcd)(d*)`,
	`^a|b$`, `\bab\b|\B.`,
	`(?<!a)b`, `(?<=a|b)c`, `(?<!\\|\d)\$`, `a(?=b)`, `(?!a).(?!b)`, `(?=a+)a`, `(?i)A(?-i:b)|(?=c)C`, `(?s).(?=\n)`,
	`(?m)^a$`, `a(?!b)|a(?!c)|b`,
	`(?<x>a+)(?<y>b)?`, `[]a]+`, `[[a]+`, `\u0061+`, `.{0,3}?b`, `(?:a?){3}b`, `(?=a|b)(?!c)\w`, `(?!\S)|b`, `$`, `\Z`,
	`(?:|a)+b`, `(?:|a)*b`, `é+|\u00e9`,
}

// loc is a match and its groups as text, "-" where one took no part.
func ours(t testing.TB, p *Pattern, s string) (out []string) {
	p.Each(s, func(loc []int) bool {
		one := fmt.Sprint(len([]rune(s[:loc[0]])))
		for i := 0; i < len(loc); i += 2 {
			if loc[i] < 0 {
				one += " -"
			} else {
				one += fmt.Sprintf(" %q", s[loc[i]:loc[i+1]])
			}
		}
		out = append(out, one)
		return true
	})
	return out
}

func theirs(re *regexp2.Regexp, s string) (out []string) {
	m, err := re.FindStringMatch(s)
	for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
		one := fmt.Sprint(m.Index)
		for _, g := range m.Groups() {
			if len(g.Captures) == 0 {
				one += " -"
			} else {
				one += fmt.Sprintf(" %q", g.String())
			}
		}
		out = append(out, one)
	}
	return out
}

// pair is an expression in both engines.
type pair struct {
	p  *Pattern
	re *regexp2.Regexp
}

func compilePair(t testing.TB, expr string) pair {
	t.Helper()
	p, err := Compile(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return pair{p, regexp2.MustCompile(expr, 0)}
}

func compareAll(t *testing.T, both pair, expr, s string) {
	t.Helper()
	p, re := both.p, both.re
	if got, want := ours(t, p, s), theirs(re, s); !slices.Equal(got, want) {
		t.Errorf("%s\nin %q gives\n%v, want\n%v", expr, s, got, want)
	}
}

// TestAgainstRegexp2 compares matches and groups with those of a backtracking engine of the same dialect.
func TestAgainstRegexp2(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []rune("aaabbcd  \n\r'sS_1é\u00a0$\\.x[")
	for _, expr := range expressions {
		both := compilePair(t, expr)
		for range 300 {
			text := make([]rune, rnd.IntN(14))
			for i := range text {
				text[i] = letters[rnd.IntN(len(letters))]
			}
			if compareAll(t, both, expr, string(text)); t.Failed() {
				return
			}
		}
	}
}

// FuzzMatch is TestAgainstRegexp2 for any text.
func FuzzMatch(f *testing.F) {
	for i := range expressions {
		f.Add(uint8(i), "it's 12  abc\n\n a$\\$ aab")
	}
	var all []pair
	for _, expr := range expressions {
		all = append(all, compilePair(f, expr))
	}
	f.Fuzz(func(t *testing.T, i uint8, s string) {
		if strings.Contains(s, strings.Repeat("a", 14)) { // the other engine takes exponential time
			return
		}
		// folded in one dialect only
		if len(s) > 200 || strings.ContainsAny(s, "ſK\ufffd") || s != strings.ToValidUTF8(s, "") {
			return
		}
		n := int(i) % len(all)
		compareAll(t, all[n], expressions[n], s)
	})
}

// TestLinear counts steps: twice the text takes no more than twice the steps, however an expression backtracks.
func TestLinear(t *testing.T) {
	for _, c := range []struct{ expr, text string }{
		{`(a+)+b`, "a"}, {`(a|a)*b`, "a"}, {`(a*)*b`, "a"}, {`\s*[\r\n]+|\s+(?!\S)`, " "}, {`a*b|a`, "a"},
		{`(?=a*b)a`, "a"}, {`(?!a*b)a`, "a"},
		{`(?:a?){50}b`, "a"}, {`(?<=a)(?=a*$)b|a`, "a"}, {`(.*)(.*)(.*)(.*)(.*)x`, "ab"}, {`\$(.*?)\$`, "$ "},
		{`\\boxed\{.+\}`, `\boxed{`},
	} {
		count := func(n int) int {
			p, err := Compile(c.expr)
			if err != nil {
				t.Fatal(err)
			}
			m := newMatcher(p.program, strings.Repeat(c.text, n))
			for from := 0; from <= len(m.s) && m.find(from); {
				from = max(m.caps[1], from+1)
			}
			for _, b := range m.bodies {
				if b != nil {
					m.steps += b.steps
				}
			}
			return m.steps
		}
		if one, two := count(1000), count(2000); two > 2*one+200 {
			t.Errorf("%s: %d steps for a text, %d for twice as much", c.expr, one, two)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, expr := range []string{`(a)\1`, `(?>a)`, `(?<=a*)b`, `a++`, `[a-[b]]`, `[[:alpha:]]`, `(?#x)`, `(`, `[a`,
		`a\`, `(?=a`, `(?(1)a)`, "\U000F0000", strings.Repeat("(?=", 20) + strings.Repeat(")", 20),
		strings.Repeat("a", maxExpression+1), `(?:a{100}){100}`, `((((a{9}){9}){9}){9}){9}`,
		strings.Repeat("(", 5000) + strings.Repeat(")", 5000)} {
		if _, err := Compile(expr); err == nil {
			t.Errorf("%.40q is compiled", expr)
		}
	}
}

// FuzzCompile: no expression makes Compile or a match panic.
func FuzzCompile(f *testing.F) {
	for _, expr := range expressions {
		f.Add(expr, "aab\n b")
	}
	f.Fuzz(func(t *testing.T, expr, s string) {
		if len(expr) > 100 || len(s) > 100 {
			return
		}
		p, err := Compile(expr)
		if err != nil {
			return
		}
		last := 0
		p.Each(s, func(loc []int) bool {
			if loc[0] < last || loc[1] < loc[0] || loc[1] > len(s) {
				t.Fatalf("%q in %q matches at %v after %d", expr, s, loc, last)
			}
			last = loc[1]
			return true
		})
	})
}

func BenchmarkMatch(b *testing.B) {
	text := strings.Repeat("It's the 12th of May, and all's well; \tfoo(bar) \n", 2000)
	for _, expr := range expressions[:3] {
		p := MustCompile(expr)
		b.Run(expr[:8], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				p.Each(text, func([]int) bool { return true })
			}
		})
		re := regexp2.MustCompile(expr, 0)
		b.Run(expr[:8]+"-regexp2", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m, _ := re.FindStringMatch(text)
				for m != nil {
					m, _ = re.FindNextMatch(m)
				}
			}
		})
	}
}
