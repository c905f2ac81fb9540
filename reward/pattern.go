package reward

import (
	"fmt"
	"strings"
	"sync"

	"github.com/dlclark/regexp2"
)

// The ranks at which answers are looked for, most telling first; boxes take the rank the reading gives them.
const (
	hopedFor  = 0   // "final answer is … I hope"
	announced = 50  // "final answer … is …"
	colon     = 100 // "answer: …"
	mentioned = 200 // "answer … …"
	anywhere  = 300
)

// pattern is a regular expression with its rank. needs are texts of which one must be there for a match, a
// cheap test before an expensive one.
type pattern struct {
	re       *regexp2.Regexp
	priority int
	latex    bool
	boxed    bool
	needs    []string
	answer   bool // the word answer must be there, in any case
}

func (p pattern) possible(text string) bool {
	if p.answer && !strings.Contains(strings.ToLower(text), "answer") {
		return false
	}
	for _, n := range p.needs {
		if strings.Contains(text, n) {
			return true
		}
	}
	return len(p.needs) == 0
}

func compile(expr string) *regexp2.Regexp {
	re := regexp2.MustCompile(expr, regexp2.None)
	re.MatchTimeout = timeLimit
	return re
}

// compileAcross lets a point match the end of a line too.
func compileAcross(expr string) *regexp2.Regexp { return compile(`(?s)` + expr) }

// plainPatterns are the patterns of numbers and of arithmetic written as text: 48/2, -3.5, $1,200, 12%.
var plainPatterns = sync.OnceValue(func() []pattern {
	const (
		grouped    = `(?<integer>-?[1-9]\d{0,2}(?:[ ,]\d{3})+)(?<decimal>\.\d+)?`
		pointed    = `(?<integer>-?\d+)(?<decimal>[.,]\d+)`
		fraction   = `(?<decimal>\.\d+)`
		whole      = `(?<integer>-?\d+)`
		percentage = `(?<percent>\s*(?:%|[Pp]ercent|\s*[Pp]ercentage|\s*[Pp]ct))?`
		number     = `(?<!\d)(?:` + grouped + `|` + pointed + `|` + fraction + `|` + whole + `)` + percentage
		operators  = `+\-*×/^()÷`
		any        = `[\d.\s` + operators + `]`
		arithmetic = `(?<expr>-?\(?-?\d` + any + `*[` + operators + `]` + any + `+\)?)`
		before     = `(?:^|\s|=)(?:\*\*)?`
		after      = `(?:\*\*)?(?:[.,:\s)$]|$)`
		currencies = `[$€£¥₹₽₪₩₫฿₡₢₣₤₥₦₧₨₭₮₯₰₱₲₳₴₵₶₷₸₺₻₼₾₿]?`
		exprAlone  = `(?:` + before + arithmetic + after + `)`
		numAlone   = `(?:` + before + currencies + number + `)`
		either     = `(?:` + exprAlone + `|` + numAlone + `)`
	)
	return []pattern{
		{re: compile(`(?i:final answer is):?\s*` + either + `\.?\s?I hope`), priority: hopedFor, answer: true},
		{re: compile(`(?i:final answer.{0,100}?)\s+is:?` + either), priority: announced, answer: true},
		{re: compile(`(?i:answer):(?:.{0,100}=\s*|.{0,50}?)` + either + `(?!\s*=)`), priority: colon, answer: true},
		{re: compile(`(?i:answer)(?:.{0,100}=\s*|.{0,50}?)` + either + `(?!\s*=)`), priority: mentioned, answer: true},
		{re: compile(exprAlone), priority: anywhere},
		{re: compile(numAlone), priority: anywhere},
	}
})

// latexParts are the prefixes of the groups of up to six environments joined by commas, "and" or "or".
var latexParts = []string{"first", "next1", "next2", "next3", "next4", "next5"}

// latexEnvironments are the groups' names after the prefix.
var latexEnvironments = []string{"DoubleDollar", "Bracket", "Dollar", "Parenthesis", "Square", "Fraction", "Boxed"}

// latexPatterns are the patterns of $…$, $$…$$, \[…\], \(…\), [ … ], a bare \frac{1}{2} and \boxed{…}.
var latexPatterns = sync.OnceValue(func() []pattern {
	needs := []string{"$", `\[`, `\(`, `\frac`, "["}
	plain := environments(false, `(?:\s*(?:,?and|,?or|,)\s*%s)?`)
	boxed := environments(true, `\s*(?:\s*(?:,?and|,?or|,)\s*%s)?`)
	return []pattern{
		{re: compileAcross(`(?i:final answer is):?\s*` + plain + `\.?\s?I hope`), priority: hopedFor, latex: true, answer: true, needs: needs},
		{re: compileAcross(`(?i:final answer.{0,100}?)\s+is:?\s*` + plain), priority: announced, latex: true, answer: true, needs: needs},
		{re: compileAcross(`(?i:answer):.{0,50}?` + plain), priority: colon, latex: true, answer: true, needs: needs},
		{re: compileAcross(`(?i:answer).{0,50}?` + plain), priority: mentioned, latex: true, answer: true, needs: needs},
		{re: compileAcross(plain), priority: anywhere, latex: true, needs: needs},
		{re: compileAcross(boxed), latex: true, boxed: true, needs: []string{`\boxed`}},
		{re: compileAcross(`(?<firstBoxed>\\boxed{.+})`), latex: true, boxed: true, needs: []string{`\boxed`}},
	}
})

// environments is one environment and up to five more, each joined as the format join says.
func environments(boxed bool, join string) string {
	var b strings.Builder
	for i, prefix := range latexParts {
		if i == 0 {
			b.WriteString(environment(prefix, boxed))
		} else {
			fmt.Fprintf(&b, join, environment(prefix, boxed))
		}
	}
	return `(?:` + b.String() + `)`
}

// environment is one LaTeX environment whose content, if boxed is set, has a box in it.
func environment(prefix string, boxed bool) string {
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
