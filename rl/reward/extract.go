package reward

import (
	"regexp"
	"sort"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/pattern"
)

// answer is one reading of a text: an expression, or failing that the text itself.
type answer struct {
	expr *node
	text string
}

// reading says what to look for in a text and how to tidy what is found.
type reading struct {
	latex, plain    bool // kinds of answer to look for
	anchorless      bool // LaTeX counts without words before it that announce an answer
	boxedPriority   int  // rank of boxes among the patterns, see latexPatterns
	firstOnly       bool // give up after the first match even if it cannot be parsed
	units           bool // drop units
	operators, nits bool // repair LaTeX written without braces; .5 and 0.5
	equations       bool // keep only the last side of a = b = c
}

// defaultReading is how math_verify reads when it is given nothing but a text.
func defaultReading() reading {
	return reading{latex: true, plain: true, anchorless: true, boxedPriority: 50, units: true, operators: true,
		nits: true}
}

// The work that reading one answer may take. Both bounds are far above what answers need: an answer is the last thing
// in a text that can be read, and few are longer than a line.
const (
	maxTried  = 64      // matches that are read, or fail to be, last ones first
	maxAnswer = 8 << 10 // bytes of all of them; a longer one counts as it is spelled
)

// readAnswer finds the answer in a text. Finders are tried in ranks; within a rank the match that ends last
// wins, and of those the one that starts first; the first that parses is the answer. The spelling of the
// first match tried is kept as a second reading, so that equal texts agree though nothing could parse them.
func readAnswer(text string, r reading) []answer {
	t := scan(text)
	var out []answer
	fallback := ""
	matched := false
	tried, size := 0, 0
	for _, rank := range ranks(r) {
		for _, f := range rank.find(t) {
			c := t.candidate(f)
			if size += c.size(); size > maxAnswer || tried == maxTried {
				if fallback == "" {
					fallback = c.spelled()
				}
				return append(out, answer{text: fallback})
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
				out = append(out, answer{expr: expr})
			}
			if expr != nil || r.firstOnly {
				break
			}
		}
		if len(out) > 0 || matched && r.firstOnly {
			break
		}
	}
	if fallback != "" {
		out = append(out, answer{text: fallback})
	}
	return out
}

// candidate is what a match read, by the names of its groups.
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
			text = openBoxes(text, lastBoxes)
		}
		n += len(text)
	}
	return n
}

// spelled is the text of a match as it stands: that of its longest group.
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
func ranks(r reading) []rank {
	byPriority := map[int]*rank{}
	add := func(finders []finder) {
		for _, p := range finders {
			if p.boxed {
				p.priority = r.boxedPriority
			}
			if p.latex && !p.boxed && p.priority == anywhere && !r.anchorless {
				continue
			}
			if byPriority[p.priority] == nil {
				byPriority[p.priority] = &rank{priority: p.priority}
			}
			byPriority[p.priority].finders = append(byPriority[p.priority].finders, p)
		}
	}
	if r.latex {
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
// other, so that of each only the last maxTried can be among those.
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
func (c candidate) read(r reading) (*node, string) {
	if c.latex {
		return c.readLatex(r)
	}
	integer, decimal := c.groups["integer"], c.groups["decimal"]
	if integer == "" && decimal == "" {
		expr, err := parseArithmetic(c.groups["expr"])
		if err != nil {
			expr = nil
		}
		return expr, c.groups["expr"]
	}
	integer = strings.TrimLeft(strings.NewReplacer(",", "", " ", "").Replace(integer), "0")
	if integer == "" {
		integer = "0"
	}
	spelling := integer + strings.ReplaceAll(decimal, ",", ".")
	n, err := number(spelling)
	if err != nil {
		return nil, spelling
	}
	if c.groups["percent"] != "" {
		n = percent(n)
	}
	return n, spelling
}

// readLatex parses the environments of a match; several that all parse make a set.
func (c candidate) readLatex(r reading) (*node, string) {
	var exprs []*node
	var spellings []string
	complete := true
	for _, prefix := range latexParts {
		for _, env := range latexEnvironments {
			latex := c.groups[prefix+env]
			if latex == "" {
				continue
			}
			mode := allBoxes
			if env == "Boxed" {
				mode = lastBoxes
			}
			spelling := normalize(latex, r, mode)
			expr, err := parseLatex(spelling)
			if last := lastSide(spelling); err != nil && last != spelling {
				expr, err = parseLatex(last)
			}
			if err != nil {
				expr, complete = nil, false
			} else if c.groups[prefix+"percent"] != "" {
				expr = percent(expr)
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
	return finiteSet(members(exprs)), strings.Join(spellings, " and ")
}

// members replaces sets by their elements.
func members(exprs []*node) []*node {
	var out []*node
	for _, e := range exprs {
		if e.kind == setNode {
			out = append(out, e.args...)
		} else {
			out = append(out, e)
		}
	}
	return out
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
