package jinja

import (
	"errors"
	"fmt"
)

// run is one rendering.
type run struct {
	t     *Template
	opts  Options
	out   *buffer // where text goes now
	root  *buffer // the rendered text
	scope *scope
	steps int
	bytes int // of all values made
	depth int // of macro calls
	evals int // expressions under way, one inside the other
	spans []Span

	spenders map[string]*spent // by kind of work
}

// maxCalls bounds how deep macros call each other.
const maxCalls = 200

// maxNesting bounds how deep values and syntax nest.
const maxNesting = 500

// The jumps out of a loop's body travel as errors.
var (
	errBreak    = errors.New("break outside a loop")
	errContinue = errors.New("continue outside a loop")
)

// scope holds the variables of a template, a loop body or a macro.
type scope struct {
	vars   map[string]Value
	parent *scope
	kept   bool // by a macro, and charged
}

func (s *scope) lookup(name string) Value {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefined{what: fmt.Sprintf("'%s' is undefined", name)}
}

// set binds name in this scope, never in an outer one.
func (s *scope) set(name string, v Value) {
	if s.vars == nil {
		s.vars = make(map[string]Value)
	}
	s.vars[name] = v
}

// buffer collects text up to a limit. Once a text did not fit it takes no more, and every write returns that error.
type buffer struct {
	text []byte
	run  *run
	err  error
}

func (r *run) buffer() *buffer { return &buffer{run: r} }

func (b *buffer) write(s string) error {
	if b.err != nil {
		return b.err
	}
	if limit := b.run.opts.MaxOutput; len(b.text)+len(s) > limit {
		b.err = fmt.Errorf("more than %d bytes of text", limit)
		return b.err
	}
	if b.err = b.run.spend("text put together", textSteps(len(s)), len(s)); b.err == nil {
		b.text = append(b.text, s...)
	}
	return b.err
}

// put writes a text that another write follows, which returns the error.
func (b *buffer) put(s string) { _ = b.write(s) }

// fits refuses a string or list of more than MaxOutput elements.
func (r *run) fits(n int) error {
	if n < 0 || n > r.opts.MaxOutput {
		return fmt.Errorf("a value of more than %d elements", r.opts.MaxOutput)
	}
	return nil
}

func (r *run) exec(body []stmt) error {
	for _, s := range body {
		if err := s.exec(r); err != nil {
			return err
		}
	}
	return nil
}

// inner executes body in scope s.
func (r *run) inner(s *scope, body []stmt) error {
	saved := r.scope
	r.scope = s
	err := r.exec(body)
	r.scope = saved
	return err
}

// capture executes body in scope s and returns its text instead of putting it out.
func (r *run) capture(s *scope, body []stmt) (string, error) {
	saved := r.out
	r.out = r.buffer()
	err := r.inner(s, body)
	text := string(r.out.text)
	r.out = saved
	return text, err
}
