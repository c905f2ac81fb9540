// Package document reads the text of a configuration: YAML becomes a tree of values with their places (parse.go,
// read.go), key=value overrides are laid over it (override.go), and interpolations such as ${oc.env:X,default} are
// filled in (interpolate.go, template.go). It knows no key of the schema.
package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File    string // the file, or "override key=value", or empty when the value is in neither
	Line    int    // from 1; 0 when unknown
	Column  int    // from 1, in characters
	Key     string // dotted, such as buffer.explorer_input.eval_tasksets[0].path
	Text    string // what is wrong, the value, the remedy
	Excerpt string // the line of the source with a mark under the place, or empty

	CommandLine bool // the mistake is on the command line: an override, or the name of the file
}

// Error is `file:line:column: key: text`, and the excerpt on the lines below.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.place())
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	if p.Excerpt != "" {
		b.WriteString("\n" + p.Excerpt)
	}
	return b.String()
}

func (p *Problem) place() string {
	if p.File == "" {
		return "config"
	}
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// maxProblems is how many problems are reported of a file that is not a configuration at all.
const maxProblems = 100

// Problems collects what is wrong.
type Problems []*Problem

func (ps *Problems) Add(at Position, key, format string, args ...any) {
	if len(*ps) >= maxProblems {
		return
	}
	overridden := at.Src != nil && at.Src.Override != ""
	if overridden {
		at.Line, at.column = 0, 0
	}
	*ps = append(*ps, &Problem{
		File: at.name(), Line: at.Line, Column: at.column, Key: key,
		Text: fmt.Sprintf(format, args...), Excerpt: at.excerpt(), CommandLine: overridden,
	})
}

// Err joins the problems in the order of the text; those without a line come last.
func (ps Problems) Err() error {
	ps = slices.Clone(ps)
	slices.SortStableFunc(ps, func(a, b *Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return b.Line - a.Line
		}
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// source is a text that values come from: the file, or one override.
type source struct {
	File     string
	Override string // the whole `key=value` when it is an override
	text     string
}

// Position is a place in a source. The zero position is not a place.
type Position struct {
	Src          *source
	Line, column int
}

func (p Position) name() string {
	switch {
	case p.Src == nil:
		return ""
	case p.Src.Override != "":
		return "override " + Quote(p.Src.Override)
	}
	return p.Src.File
}

// excerptWidth is how many characters of a long line an excerpt shows.
const excerptWidth = 96

// excerpt shows the line at p and a mark under the column.
func (p Position) excerpt() string {
	if p.Src == nil || p.Line < 1 || p.Src.Override != "" {
		return ""
	}
	line := lineOf(p.Src.text, p.Line)
	if strings.TrimSpace(line) == "" {
		return ""
	}
	runes := []rune(strings.ReplaceAll(line, "\t", " "))
	column := min(max(p.column, 1), len(runes)+1)
	start := 0
	if column > excerptWidth {
		start = column - excerptWidth/2
	}
	end := min(start+excerptWidth, len(runes))
	shown, cut := string(runes[start:end]), ""
	if end < len(runes) {
		cut = " …"
	}
	number := strconv.Itoa(p.Line)
	margin := strings.Repeat(" ", len(number))
	return fmt.Sprintf("  %s | %s%s\n  %s | %s^", number, shown, cut, margin, strings.Repeat(" ", column-1-start))
}

// lineOf returns line n (from 1) of text, without its end.
func lineOf(text string, n int) string {
	for ; n > 1; n-- {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			return ""
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimRight(line, "\r")
}

// Quote shows a value in a message, shortened when it is long.
func Quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}
