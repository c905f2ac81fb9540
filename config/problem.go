package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a configuration. An error of [Load] joins one for each.
type Problem struct {
	File    string // the file, or "override key=value", or empty when the value is in neither
	Line    int    // from 1; 0 when unknown
	Column  int    // from 1, in characters
	Key     string // dotted, such as buffer.explorer_input.eval_tasksets[0].path
	Text    string // what is wrong, the value, the remedy
	Excerpt string // the line of the source with a mark under the place, or empty

	CommandLine bool // wrong is what the command line says: an override, or the name of the file
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

// problems collects what is wrong.
type problems []*Problem

func (ps *problems) add(at position, key, format string, args ...any) {
	if len(*ps) >= maxProblems {
		return
	}
	overridden := at.src != nil && at.src.override != ""
	if overridden {
		at.line, at.column = 0, 0
	}
	*ps = append(*ps, &Problem{
		File: at.name(), Line: at.line, Column: at.column, Key: key,
		Text: fmt.Sprintf(format, args...), Excerpt: at.excerpt(), CommandLine: overridden,
	})
}

// err joins the problems in the order of the text; those without a line come last.
func (ps problems) err() error {
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

// CommandLine reports whether an error of [Load], or one that joins problems, is about what the command line says.
func CommandLine(err error) bool {
	list, joined := err.(interface{ Unwrap() []error })
	if !joined {
		p, ok := err.(*Problem)
		return ok && p.CommandLine
	}
	return slices.ContainsFunc(list.Unwrap(), CommandLine)
}

// Problem is what a part of the run found wrong with a value after loading. It has the place of key or, when nobody
// gave that, of the nearest section around it.
func (c *Config) Problem(key, format string, args ...any) *Problem {
	k := checker{c: c}
	k.bad(key, format, args...)
	return k.found[0]
}

// KeyProblem is Problem at the key itself instead of its value: the key should not be there.
func (c *Config) KeyProblem(key, format string, args ...any) *Problem {
	at, ok := c.keyPosition(key)
	if !ok {
		return c.Problem(key, format, args...)
	}
	var found problems
	found.add(at, key, format, args...)
	return found[0]
}

// keyPosition is where the text has the key.
func (c *Config) keyPosition(key string) (position, bool) {
	if c.tree == nil || key == "" {
		return position{}, false
	}
	i := strings.LastIndexByte(key, '.')
	steps, err := splitPath(key[:max(i, 0)])
	n := c.tree
	for _, s := range steps {
		if n = n.child(s); n == nil {
			return position{}, false
		}
	}
	if err != nil || n.kind != mapping {
		return position{}, false
	}
	for _, f := range n.fields {
		if f.key == key[i+1:] {
			return f.at, f.at.src != nil
		}
	}
	return position{}, false
}

// Problems joins problems in the order of the text, as the error of [Load] does; nil if there are none.
func Problems(list []*Problem) error {
	if len(list) == 0 {
		return nil
	}
	return problems(list).err()
}

// problemReading says why a file could not be read.
func problemReading(path string, err error) error {
	p := &Problem{File: path, Text: "cannot read the configuration: " + err.Error(), CommandLine: true}
	switch {
	case path == "":
		p.Text = "no configuration file named; give one with --config FILE"
	case errors.Is(err, fs.ErrNotExist):
		p.Text = "no such file; give the path of a YAML configuration with --config"
	case errors.Is(err, fs.ErrPermission):
		p.Text = "may not be read (permission denied); check its owner and mode"
	}
	return p
}

// source is a text that values come from: the file, or one override.
type source struct {
	file     string
	override string // the whole `key=value` when it is an override
	text     string
}

// position is a place in a source. The zero position is not a place.
type position struct {
	src          *source
	line, column int
}

func (p position) name() string {
	switch {
	case p.src == nil:
		return ""
	case p.src.override != "":
		return "override " + quote(p.src.override)
	}
	return p.src.file
}

// excerptWidth is how many characters of a long line an excerpt shows.
const excerptWidth = 96

// excerpt shows the line at p and a mark under the column.
func (p position) excerpt() string {
	if p.src == nil || p.line < 1 || p.src.override != "" {
		return ""
	}
	line := lineOf(p.src.text, p.line)
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
	number := strconv.Itoa(p.line)
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

// quote shows a value in a message, shortened when it is long.
func quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return strconv.Quote(s)
}
