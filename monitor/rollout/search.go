package rollout

import (
	"bytes"
	"context"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Match finds records by their prompt and answer.
type Match struct {
	text  string // "" with a pattern
	fold  bool   // capitals do not matter
	quick needle // of a part of what is wanted, which lines that match have in them; without a text if there is none
	regex *regexp.Regexp
}

// TextMatch finds a text. Without capitals in it, capitals do not matter.
func TextMatch(text string) *Match {
	m := &Match{text: text, fold: text == strings.Map(lower, text)}
	m.look(text, m.fold)
	return m
}

// look makes the needle of a text that is wanted.
func (m *Match) look(text string, fold bool) {
	if part := plainPart(text); part != "" {
		m.quick = needleOf(part, fold)
	}
}

// plainPart is the longest part of a text that JSON can write in one way only, unless it writes \u, as it writes it.
func plainPart(text string) string {
	longest := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		return r < ' ' || r == '\\' || r == '/' || r == utf8.RuneError
	}) {
		if part = strings.ReplaceAll(part, `"`, `\"`); len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// PatternMatch finds a regular expression, in linear time.
func PatternMatch(pattern string) (*Match, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	m := &Match{regex: re}
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		text, fold := needed(tree)
		m.look(text, fold)
	}
	return m, nil
}

// needed is a text that whatever matches has in it, "" if none is found. With fold, it is in small letters, and
// capitals do not matter.
func needed(tree *syntax.Regexp) (text string, fold bool) {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return string(tree.Rune), false
		}
		return folded(tree.Rune), true
	case syntax.OpCapture, syntax.OpPlus:
		return needed(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return needed(tree.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range tree.Sub {
			if t, f := needed(sub); len(plainPart(t)) > len(plainPart(text)) {
				text, fold = t, f
			}
		}
	}
	return text, fold
}

// folded is the longest part of a literal whose letters have two forms at most. K is the sign of Kelvin too, and S has
// a long form.
func folded(literal []rune) string {
	longest := ""
	for _, part := range strings.FieldsFunc(strings.ToLower(string(literal)), func(r rune) bool {
		return r >= utf8.RuneSelf || r == 'k' || r == 's'
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// escapeU begins a character that JSON writes in another way.
var escapeU = []byte(`\u`)

// raw reports whether the fields in a part of a line may match. Fields of the line between prompt and answer are in the
// part too.
func (m *Match) raw(part []byte) bool {
	return len(m.quick.text) == 0 || m.quick.in(part) || bytes.Contains(part, escapeU)
}

// Text reports whether a text matches.
func (m *Match) Text(text string) bool {
	switch {
	case m.regex != nil:
		return m.regex.MatchString(text)
	case m.fold && ascii(text):
		return strings.Contains(strings.ToLower(text), m.text)
	case m.fold:
		return strings.Contains(strings.Map(lower, text), m.text)
	}
	return strings.Contains(text, m.text)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// part reports whether prompt or answer in a part of a line match. The part begins with the value of one of them, and
// has the other as a field.
func (m *Match) part(part []byte) bool {
	if !m.raw(part) {
		return false
	}
	s := walker{buf: part}
	first, ok := s.text()
	if !ok {
		return false
	}
	if m.Text(unquote(first)) {
		return true
	}
	rest := bytes.TrimLeft(part[s.at:], " \t,")
	if len(rest) == 0 {
		return false
	}
	object := append(append(make([]byte, 0, len(rest)+2), '{'), rest...)
	found := false
	err := Fields(append(object, '}'), func(key, value []byte, _ int) {
		if k := string(key); k == "response" || k == "prompt" {
			found = found || m.Text(unquote(value))
		}
	})
	return err == nil && found
}

// Found is a part of the answer to a search.
type Found struct {
	Places  []Place
	Scanned int  // of the list that was searched, from its front
	Done    bool // the whole list was searched
}

// batch is how many rows a worker takes at a time.
const batch = 64

// Search looks through places in their order until limit of them match (0: no limit), or the time is over.
func (t *Table) Search(ctx context.Context, folder Folder, list []Place, m *Match, limit int, until time.Time) Found {
	s := search{table: t, folder: folder, list: list, match: m, limit: limit, until: until}
	n := (len(list) + batch - 1) / batch
	s.hits = make([][]Place, n)
	s.done = make([]bool, n)
	var wait sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)) {
		wait.Go(func() { s.work(ctx) })
	}
	wait.Wait()
	return s.gather()
}

type search struct {
	table  *Table
	folder Folder
	list   []Place
	match  *Match
	limit  int
	until  time.Time

	next  atomic.Int64 // the next free batch
	found atomic.Int64
	hits  [][]Place // by batch
	done  []bool
}

func (s *search) work(ctx context.Context) {
	w := worker{search: s}
	defer w.close()
	for {
		i := int(s.next.Add(1)) - 1
		over := i > 0 && (!time.Now().Before(s.until) || s.limit > 0 && int(s.found.Load()) >= s.limit)
		if i >= len(s.hits) || over || ctx.Err() != nil {
			return
		}
		for _, p := range s.list[i*batch : min((i+1)*batch, len(s.list))] {
			if w.matches(p) {
				s.hits[i] = append(s.hits[i], p)
			}
		}
		s.found.Add(int64(len(s.hits[i])))
		s.done[i] = true
	}
}

// gather collects the finds of the batches that were searched without a gap.
func (s *search) gather() Found {
	var f Found
	for i, done := range s.done {
		if !done {
			return f
		}
		for _, p := range s.hits[i] {
			if s.limit > 0 && len(f.Places) == s.limit {
				return f
			}
			f.Places = append(f.Places, p)
			if s.limit > 0 && len(f.Places) == s.limit {
				f.Scanned = i*batch + s.offset(i, p) + 1
				f.Done = f.Scanned == len(s.list)
			}
		}
		if s.limit == 0 || len(f.Places) < s.limit {
			f.Scanned = min((i+1)*batch, len(s.list))
		}
	}
	f.Done = f.Done || f.Scanned == len(s.list)
	return f
}

func (s *search) offset(i int, p Place) int {
	for k, q := range s.list[i*batch:] {
		if p == q {
			return k
		}
	}
	return 0
}

// worker keeps one file open.
type worker struct {
	search *search
	file   int32
	open   Opened
	buf    []byte
}

func (w *worker) matches(p Place) bool {
	f, row := w.search.table.At(p)
	if w.open == nil || w.file != p.File {
		w.close()
		open, err := w.search.folder.Open(f.File)
		if err != nil {
			return false
		}
		w.open, w.file = open, p.File
	}
	part, err := w.open.Read(row, row.Text, w.buf)
	if err != nil {
		return false
	}
	w.buf = part
	return w.search.match.part(part)
}

func (w *worker) close() {
	if w.open != nil {
		w.open.Close()
		w.open = nil
	}
}

// ResponseIn is the answer in the part of a line that Row.Text names; "" if it has none.
func ResponseIn(part []byte) string {
	s := walker{buf: part}
	first, ok := s.text()
	if !ok {
		return ""
	}
	rest := bytes.TrimLeft(part[s.at:], " \t,")
	response := unquote(first)
	if len(rest) == 0 {
		return response
	}
	object := append(append(make([]byte, 0, len(rest)+2), '{'), rest...)
	err := Fields(append(object, '}'), func(key, value []byte, _ int) {
		if string(key) == "response" {
			response = unquote(value)
		}
	})
	if err != nil {
		return ""
	}
	return response
}
