package extract

import (
	"regexp"
	"sort"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// inMathematics reads a number again that is part of mathematics: an environment, a box or a formula without marks
// around it. Mathematics that is understood completely is read as a whole. A number in other mathematics is no number,
// so that a sum that cannot be read does not equal its lower bound. ok is false for a number on its own.
func (t *scanned) inMathematics(f found, r Reading) (expr *expression.Node, spelling string, ok bool) {
	from, to := f.number()
	if from >= to {
		return nil, "", false
	}
	start, end := t.around(from, to)
	text := t.row(start, from, end)
	if !mathematical(text) {
		return nil, "", false
	}
	expr, spelling = readMathematics(text, r)
	if expr == nil {
		side, _ := readMathematics(string(t.r[t.lastEquals(start, from, end):end]), r)
		return nil, spelling, side == nil
	}
	return expr, spelling, t.inGroup(from)
}

// lastEquals is the place after the last equals sign of a formula in [from, to), if it comes before the number at at:
// the right side may be readable when the left is not, as in \int_0^2 x dx = 2. Signs in braces do not count.
func (t *scanned) lastEquals(from, at, to int) int {
	depth, last := 0, from
	for i := from; i < to; i++ {
		switch t.r[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '=':
			if depth == 0 && !strings.ContainsRune(`\<>!`, t.at(i-1)) {
				last = i + 1
			}
		}
	}
	if last > at {
		return from
	}
	return last
}

// around is the extent of the environment, box or formula around a number in [from, to).
func (t *scanned) around(from, to int) (start, end int) {
	if start, end = t.marked(from); start < end {
		return start, end
	}
	return t.formulaStart(from), t.formulaEnd(to)
}

// number is the extent of the number or the arithmetic of a match.
func (f found) number() (from, to int) {
	for _, g := range f.groups {
		if g.name == "" || f.latex && g.name != "firstFraction" && g.name != "firstpercent" {
			continue
		}
		if to == 0 {
			from = g.start
		}
		from, to = min(from, g.start), max(to, g.end)
	}
	return from, to
}

// maxFormula bounds the mathematics around a number that is read, in bytes.
const maxFormula = 1 << 10

var onlyText = regexp.MustCompile(`^\\(?:text|mbox)\{(.*)\}$`)

// undressed is a text without the marks of a sentence, a heading, a tag or bold type around it.
func undressed(text string) string {
	return strings.TrimLeft(strings.TrimRight(text, " \t\n*.,;:</("), " \t\n*#>:")
}

func readMathematics(text string, r Reading) (*expression.Node, string) {
	text = onlyText.ReplaceAllString(undressed(text), "$1")
	if len(text) > maxFormula {
		return nil, text
	}
	return candidate{groups: map[string]string{"firstDollar": text}, latex: true}.readLatex(r)
}

// marked is the extent of the environment or the box around a place, empty if there is none.
func (t *scanned) marked(at int) (from, to int) {
	inside := t.inEnvironments()
	i := sort.Search(len(inside), func(k int) bool { return inside[k].to > at })
	if i < len(inside) && inside[i].from <= at && inside[i].name != "Fraction" && !t.prices(inside[i]) {
		return inside[i].from, inside[i].to
	}
	for _, open := range t.openBraces(at) {
		if t.command(open) != `\boxed` && t.command(open) != `\fbox` {
			continue
		}
		if end := t.closeBrace(open); end > at {
			return open + 1, end
		}
	}
	return 0, 0
}

var aligned = regexp.MustCompile(`^\s*\\begin\{(?:align|aligned|alignat|split|gather|gathered|eqnarray|equation)\*?\}`)

// row is the text in [from, to), or, if it is aligned equations, the row around a place in it: each row counts
// separately.
func (t *scanned) row(from, at, to int) string {
	text := string(t.r[from:to])
	if !aligned.MatchString(text) {
		return text
	}
	before, after := string(t.r[from:at]), string(t.r[at:to])
	for _, mark := range []string{`\\`, "}"} {
		if i := strings.LastIndex(before, mark); i >= 0 {
			before = before[i+len(mark):]
			break
		}
	}
	for _, mark := range []string{`\\`, `\end{`} {
		after, _, _ = strings.Cut(after, mark)
	}
	return strings.ReplaceAll(before+after, "&", "")
}

// inEnvironments lists the environments of a text from left to right.
func (t *scanned) inEnvironments() []environment {
	if t.listed {
		return t.inside
	}
	t.listed = true
	end := 0
	for _, at := range t.starts.all {
		if int(at) < end {
			continue
		}
		if e, ok := t.environment(int(at), false); ok {
			t.inside = append(t.inside, e)
			end = e.end
		}
	}
	return t.inside
}

// prices reports whether dollars are money, as in "$18 a day, and $2 more": a number follows the first, and before the
// second is a space or after it a digit.
func (t *scanned) prices(e environment) bool {
	if e.name != "Dollar" || !t.digit(e.from) {
		return false
	}
	for _, c := range t.r[e.from:e.to] {
		if c == '\\' {
			return false
		}
	}
	return t.space(e.to-1) || t.digit(e.end)
}

// openBraces are the braces that are open at a place, the inner ones first, within the length of an answer.
func (t *scanned) openBraces(at int) (open []int) {
	depth := 0
	for i := at - 1; i >= max(0, at-tex.MaxAnswer); i-- {
		switch {
		case t.r[i] == '}' && t.at(i-1) != '\\':
			depth++
		case t.r[i] == '{' && t.at(i-1) != '\\':
			if depth == 0 {
				open = append(open, i)
			} else {
				depth--
			}
		}
	}
	return open
}

// closeBrace is the brace that closes the one at open, -1 if there is none within the length of an answer.
func (t *scanned) closeBrace(open int) int {
	depth := 0
	for i := open; i < min(len(t.r), open+tex.MaxAnswer); i++ {
		switch {
		case t.r[i] == '{' && t.at(i-1) != '\\':
			depth++
		case t.r[i] == '}' && t.at(i-1) != '\\':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
