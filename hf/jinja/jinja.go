// Package jinja renders the Jinja templates that Hugging Face chat templates
// are written in, to the same text as Python's Jinja2 in the environment that
// the transformers library sets up: trim_blocks and lstrip_blocks on, loop
// controls, the {% generation %} tag, a tojson that neither escapes nor sorts,
// raise_exception, strftime_now, and values that templates cannot change.
//
// It is an interpreter over a syntax tree. It refuses by name what chat
// templates do not use: inheritance, includes and imports.
// Templates are data from elsewhere: their length and nesting are bounded, and
// a rendering has budgets of steps and of bytes, see [Options] and [BudgetError].
package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// maxSource bounds the length of a template. The longest in use have 30,000 bytes.
const maxSource = 4 << 20

// Template is a parsed template. It does not change, and any number of
// goroutines may render it at once.
type Template struct {
	body    []stmt
	filters map[string]function
	tests   map[string]function
}

// Options are the circumstances of one rendering.
type Options struct {
	// Now is the time that strftime_now tells.
	Now time.Time
	// MaxOutput bounds the text, and every string and list made on the way, in
	// bytes and elements. 0 means 64 Mi.
	MaxOutput int
	// MaxSteps bounds the work: expressions evaluated, elements compared or gone
	// through, text looked at or copied (32 bytes a step). 0 means 10 million, a
	// second or two.
	MaxSteps int
	// MaxBytes bounds the sizes of all values made, added up, and so the memory
	// held at any time. 0 means 512 Mi.
	MaxBytes int
}

// Result is a rendered template.
type Result struct {
	Text string
	// Generations are the stretches of Text inside {% generation %}, in order.
	Generations []Span
}

// Span is the byte range [Start, End) of a text.
type Span struct{ Start, End int }

// Error is a fault in a template, or one that rendering it met.
type Error struct {
	Line    int
	Message string
	// Raised is set when the template itself called raise_exception.
	Raised bool

	cause error
}

// Error returns the message with its line.
func (e *Error) Error() string {
	return fmt.Sprintf("jinja: line %d: %s", e.Line, e.Message)
}

// Unwrap returns what the fault comes from, such as a *BudgetError, or nil.
func (e *Error) Unwrap() error { return e.cause }

// at gives err a line unless it has one or is a jump.
func at(line int, err error) error {
	if err == nil || err == errBreak || err == errContinue {
		return err
	}
	var e *Error
	if errors.As(err, &e) {
		e.Line = cmp.Or(e.Line, line)
		return e
	}
	return &Error{Line: line, Message: err.Error(), cause: err}
}

// Parse reads a template. Errors are of type *Error.
func Parse(src string) (*Template, error) {
	if len(src) > maxSource {
		return nil, &Error{Message: fmt.Sprintf("a template of %d bytes; at most %d are read", len(src), maxSource)}
	}
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	body, err := p.template()
	if err != nil {
		return nil, err
	}
	return &Template{body: body, filters: filterTable(), tests: testTable()}, nil
}

// Render renders the template with the variables of ctx, which must hold
// values of this package (see [Value]). Errors are of type *Error.
func (t *Template) Render(ctx *Map, opts Options) (Result, error) {
	opts.MaxOutput = cmp.Or(opts.MaxOutput, 64<<20)
	opts.MaxSteps = cmp.Or(opts.MaxSteps, 10e6)
	opts.MaxBytes = cmp.Or(opts.MaxBytes, 512<<20)
	r := &run{t: t, opts: opts, spenders: map[string]*spent{}}
	root := r.buffer()
	r.out, r.root = root, root
	globals := &scope{vars: globalTable()}
	outer := &scope{vars: make(map[string]Value), parent: globals}
	for k, v := range ctx.All() {
		if name, ok := k.(string); ok {
			outer.vars[name] = v
		}
	}
	r.scope = &scope{vars: make(map[string]Value), parent: outer}
	if err := r.exec(t.body); err != nil {
		return Result{}, at(0, err)
	}
	return Result{Text: string(root.text), Generations: r.spans}, nil
}
