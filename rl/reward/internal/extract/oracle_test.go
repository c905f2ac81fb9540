package extract

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dlclark/regexp2"
)

// The regular expressions of math_verify 0.9.0, as the finders must match them.

// oracle is the expression that a finder implements.
type oracle struct {
	re     *regexp2.Regexp
	finder finder
}

var oracles = sync.OnceValue(func() []oracle {
	all := append(latexFinders(), plainFinders()...)
	var out []oracle
	for i, expr := range append(latexExpressions(), plainExpressions()...) {
		out = append(out, oracle{regexp2.MustCompile(expr, 0), all[i]})
	}
	return out
})

func plainExpressions() []string {
	const (
		grouped    = `(?<integer>-?[1-9]\d{0,2}(?:[ ,]\d{3})+)(?<decimal>\.\d+)?`
		pointed    = `(?<integer>-?\d+)(?<decimal>[.,]\d+)`
		fraction   = `(?<decimal>\.\d+)`
		whole      = `(?<integer>-?\d+)`
		percentage = `(?<percent>\s*(?:%|[Pp]ercent|\s*[Pp]ercentage|\s*[Pp]ct))?`
		number     = `(?<!\d)(?:` + grouped + `|` + pointed + `|` + fraction + `|` + whole + `)` + percentage
		operators  = `+\-*×/^()÷`
		anySign    = `[\d.\s` + operators + `]`
		arithmetic = `(?<expr>-?\(?-?\d` + anySign + `*[` + operators + `]` + anySign + `+\)?)`
		before     = `(?:^|\s|=)(?:\*\*)?`
		after      = `(?:\*\*)?(?:[.,:\s)$]|$)`
		currencies = `[$€£¥₹₽₪₩₫฿₡₢₣₤₥₦₧₨₭₮₯₰₱₲₳₴₵₶₷₸₺₻₼₾₿]?`
		exprAlone  = `(?:` + before + arithmetic + after + `)`
		numAlone   = `(?:` + before + currencies + number + `)`
		either     = `(?:` + exprAlone + `|` + numAlone + `)`
	)
	return []string{
		`(?i:final answer is):?\s*` + either + `\.?\s?I hope`,
		`(?i:final answer.{0,100}?)\s+is:?` + either,
		`(?i:answer):(?:.{0,100}=\s*|.{0,50}?)` + either + `(?!\s*=)`,
		`(?i:answer)(?:.{0,100}=\s*|.{0,50}?)` + either + `(?!\s*=)`,
		exprAlone,
		numAlone,
	}
}

func latexExpressions() []string {
	plain := environmentsExpression(false, `(?:\s*(?:,?and|,?or|,)\s*%s)?`)
	boxed := environmentsExpression(true, `\s*(?:\s*(?:,?and|,?or|,)\s*%s)?`)
	return []string{
		`(?s)(?i:final answer is):?\s*` + plain + `\.?\s?I hope`,
		`(?s)(?i:final answer.{0,100}?)\s+is:?\s*` + plain,
		`(?s)(?i:answer):.{0,50}?` + plain,
		`(?s)(?i:answer).{0,50}?` + plain,
		`(?s)` + plain,
		`(?s)` + boxed,
		`(?s)(?<firstBoxed>\\boxed{.+})`,
	}
}

// environmentsExpression is one environment and up to five more, each joined as the format join says.
func environmentsExpression(boxed bool, join string) string {
	var b strings.Builder
	for i, prefix := range latexParts {
		if i == 0 {
			b.WriteString(environmentExpression(prefix, boxed))
		} else {
			fmt.Fprintf(&b, join, environmentExpression(prefix, boxed))
		}
	}
	return `(?:` + b.String() + `)`
}

// environmentExpression is one LaTeX environment whose content, if boxed is set, has a box in it.
func environmentExpression(prefix string, boxed bool) string {
	content := func(char string) string {
		if boxed {
			return char + `*?\\boxed{` + char + `+?}` + char + `*?`
		}
		return char + `+?`
	}
	forms := []string{
		`(?<!\\)\$\$(?<` + prefix + `DoubleDollar>` + content(`(?:[^$]|\$(?!\$))`) + `)(?<!\\)\$\$`,
		`(?<!\\)\\\[(?<` + prefix + `Bracket>` + content(`(?:[^\\]|\\(?!\]))`) + `)(?<!\\)\\\]`,
		`(?<!\\|\d)\$(?<` + prefix + `Dollar>` + content(`(?:\\[$]|[^\n$])`) + `)(?<!\\)\$`,
		`(?<!\\)\\\((?<` + prefix + `Parenthesis>` + content(`(?:[^\\\n]|\\(?!\)))`) + `)(?<!\\)\\\)`,
		`\s\[(?<` + prefix + `Square>` + content(`[^\n\]\[]`) + `)\]\s`,
	}
	if !boxed {
		const simple = `{-?\d+(?:[.,]\d+)?}`
		forms = append(forms, `(?<`+prefix+`Fraction>-?\\frac`+simple+simple+`)`)
	}
	return `(?:(?:` + strings.Join(forms, `|`) + `)\s*(?<` + prefix + `percent>\\?%|[Pp]ercent|[Pp]ercentage|[Pp]ct)?)`
}

// matched is a match with its groups as text.
func matched(start, end int, groups map[string]string) string {
	return fmt.Sprintf("%d..%d %v", start, end, groups)
}

func (o oracle) wanted(text string) (out []string) {
	m, err := o.re.FindStringMatch(text)
	for ; m != nil && err == nil; m, err = o.re.FindNextMatch(m) {
		groups := map[string]string{}
		for _, g := range m.Groups()[1:] {
			if len(g.Captures) > 0 {
				groups[g.Name] = g.String()
			}
		}
		out = append(out, matched(m.Index, m.Index+m.Length, groups))
	}
	return out
}

func (o oracle) got(text string) (out []string) {
	t := scan(text)
	o.finder.find(t, func(f found) { out = append(out, matched(f.start, f.end, t.candidate(f).groups)) })
	return out
}

func checkFinders(t *testing.T, text string) {
	t.Helper()
	for i, o := range oracles() {
		if got, want := o.got(text), o.wanted(text); !slices.Equal(got, want) {
			t.Errorf("finder %d in %q gives\n%q, want\n%q", i, text, got, want)
		}
	}
}

// pieces are the parts of random texts.
var pieces = strings.Split(`$|$$|\[|\]|\(|\)|[|]| |  |`+"\n"+
	`|\|\boxed{|{|}|\frac{1}{2}|-\frac{3}{4,5}|\%|%|percent|Percentage|pct|,|and|or|, and |1|12|123|1,234|1 234|1.5|`+
	`.5|-2|+|-|*|**|/|(|)|^|=| = |final answer is|Final Answer|answer|Answer:|: |is|is: |I hope|. I hope|x|x y|€|é|"`,
	"|")

// TestFinders holds the finders against the expressions on texts made of what they look for, and on the goldens'
// responses.
func TestFinders(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 4000 {
		var text strings.Builder
		for range rnd.IntN(16) {
			text.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		if checkFinders(t, text.String()); t.Failed() {
			return
		}
	}
	golden, err := os.ReadFile("../../testdata/math_reward.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(golden)), "\n") {
		var row struct{ Response string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			checkFinders(t, row.Response)
		}
	}
}

// FuzzFinders is the same for any text: bytes above 127 select pieces.
func FuzzFinders(f *testing.F) {
	for _, s := range []string{"final answer is $1$. I hope", "answer: \x80\x81\x82", "\x90\x91\x92\x93\x94",
		"Answer: x = 12 % and"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 60 {
			return
		}
		var text strings.Builder
		for _, b := range data {
			if b >= 128 {
				text.WriteString(pieces[int(b-128)%len(pieces)])
			} else {
				text.WriteByte(b)
			}
		}
		checkFinders(t, text.String())
	})
}
