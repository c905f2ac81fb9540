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
	depth int // of macro calls
	spans []Span
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

// buffer collects text up to a limit.
type buffer struct {
	text []byte
	max  int
}

func (b *buffer) write(s string) error {
	if len(b.text)+len(s) > b.max {
		return fmt.Errorf("more than %d bytes of text", b.max)
	}
	b.text = append(b.text, s...)
	return nil
}

func (r *run) step() error {
	r.steps++
	if r.steps > r.opts.MaxSteps {
		return fmt.Errorf("more than %d steps: the template may not end", r.opts.MaxSteps)
	}
	return nil
}

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

// inner executes body in a scope of its own.
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
	r.out = &buffer{max: r.opts.MaxOutput}
	err := r.inner(s, body)
	text := string(r.out.text)
	r.out = saved
	return text, err
}
