package reward

import (
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
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
	return reading{latex: true, plain: true, anchorless: true, boxedPriority: 50, units: true, operators: true, nits: true}
}

// candidate is one match of one pattern.
type candidate struct {
	groups     map[string]string
	start, end int // in runes
	latex      bool
}

// readAnswer finds the answer in a text. Patterns are tried in ranks; within a rank the match that ends last
// wins, and of those the one that starts first; the first that parses is the answer. The spelling of the
// first match tried is kept as a second reading, so that equal texts agree though nothing could parse them.
// Nothing is found in a text that takes longer than timeLimit.
func readAnswer(text string, r reading) []answer {
	deadline := time.Now().Add(timeLimit)
	var out []answer
	fallback := ""
	matched := false
	for _, rank := range ranks(r) {
		candidates, ok := rank.find(text, deadline)
		if !ok {
			return nil
		}
		for _, c := range candidates {
			expr, spelling := c.read(r)
			if matched = true; fallback == "" {
				fallback = spelling
			}
			if expr != nil {
				out = append(out, answer{expr: expr})
			}
			if expr != nil || r.firstOnly {
				break
			}
			if time.Now().After(deadline) {
				return nil
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

// rank is the patterns of one priority.
type rank struct {
	priority int
	patterns []pattern
}

// ranks sorts the patterns a reading uses by priority; LaTeX comes before plain numbers.
func ranks(r reading) []rank {
	byPriority := map[int]*rank{}
	add := func(patterns []pattern) {
		for _, p := range patterns {
			if p.boxed {
				p.priority = r.boxedPriority
			}
			if p.latex && !p.boxed && p.priority == anywhere && !r.anchorless {
				continue
			}
			if byPriority[p.priority] == nil {
				byPriority[p.priority] = &rank{priority: p.priority}
			}
			byPriority[p.priority].patterns = append(byPriority[p.priority].patterns, p)
		}
	}
	if r.latex {
		add(latexPatterns())
	}
	if r.plain {
		add(plainPatterns())
	}
	var out []rank
	for _, k := range byPriority {
		out = append(out, *k)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].priority < out[j].priority })
	return out
}

// find returns the matches of a rank in the order they are to be tried; ok is false if time ran out.
func (k rank) find(text string, deadline time.Time) (found []candidate, ok bool) {
	for _, p := range k.patterns {
		if !p.possible(text) {
			continue
		}
		m, err := p.re.FindStringMatch(text)
		for ; m != nil && err == nil; m, err = p.re.FindNextMatch(m) {
			c := candidate{groups: map[string]string{}, start: m.Index, end: m.Index + m.Length, latex: p.latex}
			for _, g := range m.Groups()[1:] {
				if len(g.Captures) > 0 {
					c.groups[g.Name] = g.String()
				}
			}
			found = append(found, c)
			if time.Now().After(deadline) {
				return nil, false
			}
		}
		if err != nil {
			return nil, false
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].end != found[j].end {
			return found[i].end > found[j].end
		}
		return found[i].start < found[j].start
	})
	return found, true
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

var anyEquals = regexp2.MustCompile(`(?<!\\|<|!|>)=`, 0)

var listMark = regexp.MustCompile(`[,;]`)

// lastSide is the last side of a chain of at least two equals signs, unless the text is a list.
func lastSide(text string) string {
	if listMark.MatchString(text) {
		return text
	}
	var ends []int
	runes := []rune(text)
	for m, err := anyEquals.FindRunesMatch(runes); m != nil && err == nil; m, err = anyEquals.FindNextMatch(m) {
		ends = append(ends, m.Index+1)
	}
	if len(ends) < 2 {
		return text
	}
	return string(runes[ends[len(ends)-1]:])
}
