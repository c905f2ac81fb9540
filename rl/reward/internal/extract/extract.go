// Package extract finds the answer in what a model wrote, as math_verify 0.9.0 does: in prose, in boxes and in LaTeX.
// Its finders match what the expressions of math_verify match, in time linear in the text.
package extract

import (
	"cmp"
	"regexp"
	"sort"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/pattern"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/expression"
	"github.com/seed-d9ad8ee0/trinity/rl/reward/internal/tex"
)

// Reading says what to look for in a text and how to tidy what is found.
type Reading struct {
	Latex, plain    bool // kinds of answer to look for
	Anchorless      bool // LaTeX counts without words before it that announce an answer
	BoxedPriority   int  // rank of boxes among the patterns, see latexPatterns
	FirstOnly       bool // give up after the first match even if it cannot be parsed
	Units           bool // drop units
	Operators, Nits bool // repair LaTeX written without braces; .5 and 0.5
	Equations       bool // keep only the last side of a = b = c
}

// Default is how math_verify reads when it is given nothing but a text.
func Default() Reading {
	return Reading{Latex: true, plain: true, Anchorless: true, BoxedPriority: 50, Units: true, Operators: true,
		Nits: true}
}

// maxTried bounds the matches that are read, or fail to be, last ones first. Like tex.MaxAnswer it is far above what
// answers need: an answer is the last thing in a text that can be read, and few are longer than a line.
const maxTried = 64

// Answer finds the answer in a text. Finders are tried in ranks; within a rank the match that ends last
// wins, and of those the one that starts first; the first that parses is the answer. The spelling of the
// first match tried is kept as a second reading, so that equal texts agree though nothing could parse them.
func Answer(text string, r Reading) []expression.Answer {
	t := scan(text)
	var out []expression.Answer
	fallback := ""
	matched := false
	tried, size := 0, 0
	for _, rank := range ranks(r) {
		for _, f := range rank.find(t) {
			c := t.candidate(f)
			if size += c.size(); size > tex.MaxAnswer || tried == maxTried {
				if fallback == "" {
					fallback = c.spelled()
				}
				return append(out, expression.Answer{Text: fallback})
			}
			tried++
			expr, spelling := c.read(r)
			if around, text, ok := t.inMathematics(f, r); ok && (expr != nil || !f.latex) {
				expr, spelling = around, text
			}
			if matched = true; fallback == "" {
				fallback = spelling
			}
			if expr != nil {
				out = append(out, expression.Answer{Expr: expr})
			}
			if expr != nil || r.FirstOnly {
				break
			}
		}
		if len(out) > 0 || matched && r.FirstOnly {
			break
		}
	}
	if fallback != "" {
		out = append(out, expression.Answer{Text: fallback})
	}
	return out
}

// candidate has the groups of a match by name.
type candidate struct {
	groups map[string]string
	latex  bool
}

func (t *scanned) candidate(f found) candidate {
	c := candidate{groups: map[string]string{}, latex: f.latex}
	for _, g := range f.groups {
		if g.name == "" {
			continue
		}
		c.groups[g.name] = string(t.r[g.start:g.end])
	}
	return c
}

// size is the work of reading c: of a text full of boxes only the last ones are read.
func (c candidate) size() (n int) {
	for name, text := range c.groups {
		if name == "firstBoxed" {
			text = tex.OpenBoxes(text, tex.LastBoxes)
		}
		n += len(text)
	}
	return n
}

// spelled is the text of a match: its longest group.
func (c candidate) spelled() (longest string) {
	for _, text := range c.groups {
		if len(text) > len(longest) || len(text) == len(longest) && text < longest {
			longest = text
		}
	}
	return longest
}

// rank is the finders of one priority.
type rank struct {
	priority int
	finders  []finder
}

// ranks sorts the finders a reading uses by priority; LaTeX comes before plain numbers.
func ranks(r Reading) []rank {
	byPriority := map[int]*rank{}
	add := func(finders []finder) {
		for _, p := range finders {
			if p.boxed {
				p.priority = r.BoxedPriority
			}
			if p.latex && !p.boxed && p.priority == anywhere && !r.Anchorless {
				continue
			}
			if byPriority[p.priority] == nil {
				byPriority[p.priority] = &rank{priority: p.priority}
			}
			byPriority[p.priority].finders = append(byPriority[p.priority].finders, p)
		}
	}
	if r.Latex {
		add(latexFinders())
	}
	if r.plain {
		add(plainFinders())
	}
	var out []rank
	for _, k := range byPriority {
		out = append(out, *k)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].priority < out[j].priority })
	return out
}

// find returns the last matches of a rank in the order they are to be tried. A finder's matches end one after the
// other, so only the last maxTried of each can be among them.
func (k rank) find(t *scanned) (all []found) {
	for _, p := range k.finders {
		last, n := make([]found, 0, maxTried+1), 0
		p.find(t, func(f found) {
			if n < cap(last) {
				last = append(last, found{})
			}
			kept := &last[n%cap(last)]
			kept.start, kept.end, kept.latex = f.start, f.end, p.latex
			kept.groups = append(kept.groups[:0], f.groups...)
			n++
		})
		all = append(all, last...)
	}
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].end != all[j].end {
			return all[i].end > all[j].end
		}
		return all[i].start < all[j].start
	})
	return all
}

// read parses a match and returns the expression, nil if it has none, and its spelling.
func (c candidate) read(r Reading) (*expression.Node, string) {
	if c.latex {
		return c.readLatex(r)
	}
	integer, decimal := c.groups["integer"], c.groups["decimal"]
	if integer == "" && decimal == "" {
		expr, err := expression.Arithmetic(c.groups["expr"])
		if err != nil {
			expr = nil
		}
		return expr, c.groups["expr"]
	}
	integer = strings.TrimLeft(strings.NewReplacer(",", "", " ", "").Replace(integer), "0")
	integer = cmp.Or(integer, "0")
	spelling := integer + strings.ReplaceAll(decimal, ",", ".")
	n, err := expression.Number(spelling)
	if err != nil {
		return nil, spelling
	}
	if c.groups["percent"] != "" {
		n = expression.Percent(n)
	}
	return n, spelling
}

// readLatex parses the environments of a match; several that all parse make a set.
func (c candidate) readLatex(r Reading) (*expression.Node, string) {
	var exprs []*expression.Node
	var spellings []string
	complete := true
	for _, prefix := range latexParts {
		for _, env := range latexEnvironments {
			latex := c.groups[prefix+env]
			if latex == "" {
				continue
			}
			mode := tex.AllBoxes
			if env == "Boxed" {
				mode = tex.LastBoxes
			}
			spelling := normalize(latex, r, mode)
			expr, err := expression.LaTeX(spelling)
			if last := lastSide(spelling); err != nil && last != spelling {
				expr, err = expression.LaTeX(last)
			}
			if err != nil {
				expr, complete = nil, false
			} else if c.groups[prefix+"percent"] != "" {
				expr = expression.Percent(expr)
			}
			exprs, spellings = append(exprs, expr), append(spellings, spelling)
		}
	}
	switch {
	case len(exprs) == 0:
		return nil, ""
	case len(exprs) == 1 || !complete:
		return exprs[0], spellings[0]
	}
	return expression.All(exprs), strings.Join(spellings, " and ")
}

var anyEquals = pattern.MustCompile(`(?<!\\|<|!|>)=`)

var listMark = regexp.MustCompile(`[,;]`)

// lastSide is the last side of a chain of at least two equals signs, unless the text is a list.
func lastSide(text string) string {
	if listMark.MatchString(text) {
		return text
	}
	signs, end := 0, 0
	anyEquals.Each(text, func(loc []int) bool {
		signs++
		end = loc[1]
		return true
	})
	if signs < 2 {
		return text
	}
	return text[end:]
}
